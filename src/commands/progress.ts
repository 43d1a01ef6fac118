/** How often to show progress, in ms: as a bar on a terminal, otherwise as a new line each time. */
const TERMINAL_INTERVAL = 200;
const LINE_INTERVAL = 10_000;
const BAR_WIDTH = 20;

/** `share`: from 0 to 1; undefined if the total is unknown. */
export type Progress = { rows: number; share?: number | undefined };

type Output = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number };

type ProgressOptions = {
  /** Called before each update. */
  read: () => Progress;
  output?: Output;
};

/** Shows the progress of a command on standard error. @returns a function that stops it */
export const showProgress = ({ read, output = process.stderr }: ProgressOptions): (() => void) => {
  const startedAt = performance.now();
  const text = () => describeProgress(read(), (performance.now() - startedAt) / 1000);
  if (!output.isTTY) {
    const timer = setInterval(() => output.write(`${text()}\n`), LINE_INTERVAL).unref();
    return () => clearInterval(timer);
  }
  const clear = '\r\x1b[K';
  const show = () => output.write(`${clear}${text().slice(0, (output.columns ?? 80) - 1)}`);
  const timer = setInterval(show, TERMINAL_INTERVAL).unref();
  return () => {
    clearInterval(timer);
    output.write(clear);
  };
};

/** For example `[#####---------------]  25 %  250,000 rows  50,000 rows/s  0:15 left`. `seconds`: the time elapsed. */
export const describeProgress = ({ rows, share }: Progress, seconds: number): string => {
  const rate = seconds > 0 ? rows / seconds : 0;
  const done = [`${count(rows)} rows`, `${count(rate)} rows/s`];
  if (share === undefined) return done.join('  ');
  const part = Math.min(Math.max(share, 0), 1);
  const filled = Math.floor(part * BAR_WIDTH);
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}]`;
  const left = part > 0 && part < 1 ? [`${duration((seconds / part) * (1 - part))} left`] : [];
  return [bar, `${String(Math.floor(part * 100)).padStart(3)} %`, ...done, ...left].join('  ');
};

const count = (value: number) => Math.round(value).toLocaleString('en-US');

const duration = (seconds: number): string => {
  const whole = Math.ceil(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts
    .slice(parts[0] === 0 ? 1 : 0)
    .map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0')))
    .join(':');
};
