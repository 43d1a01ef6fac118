import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

// Preloaded into a process: writes down what it loads, to the file that LOADED_MODULES names.
registerHooks({
  load: (url, context, nextLoad) => {
    appendFileSync(process.env.LOADED_MODULES ?? '', `${url}\n`);
    return nextLoad(url, context);
  },
});
