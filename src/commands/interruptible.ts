const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A terminal sends Ctrl-C to the whole process group, and npm passes its own on: within this time, in ms, it is the same one. */
const SAME_SIGNAL_TIME = 1000;

/** Calls `run` with a signal that is aborted when the process is to stop. A second one, later, ends the process at once. */
export const interruptible = async <Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> => {
  const controller = new AbortController();
  const removeListeners = () => {
    for (const signal of SIGNALS) process.off(signal, stop);
  };
  const stop = () => {
    if (controller.signal.aborted) return;
    controller.abort();
    setTimeout(removeListeners, SAME_SIGNAL_TIME).unref();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await run(controller.signal);
  } finally {
    removeListeners();
  }
};
