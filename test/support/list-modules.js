import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

// Preloaded into a process: appends the modules that it loads to the file LOADED_MODULES.
registerHooks({
  load: (url, context, nextLoad) => {
    appendFileSync(process.env.LOADED_MODULES ?? '', `${url}\n`);
    return nextLoad(url, context);
  },
});
