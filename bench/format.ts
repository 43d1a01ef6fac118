/** Figures as they are shown. What is not known is a dash. */
const UNKNOWN = '–';
const MEBIBYTE = 1024 * 1024;

const known = (value: number | undefined): value is number => value !== undefined && Number.isFinite(value);

export const whole = (value?: number): string => (known(value) ? Math.round(value).toLocaleString('en') : UNKNOWN);

/** Three significant digits at least, and no decimals that say nothing. */
export const decimal = (value?: number): string => {
  if (!known(value)) return UNKNOWN;
  return value >= 100 ? whole(value) : value.toFixed(value >= 10 ? 1 : 2);
};

export const mebibytes = (bytes?: number): string => whole(bytes === undefined ? undefined : bytes / MEBIBYTE);

export const ratio = (value?: number, base?: number): string =>
  known(value) && known(base) && base > 0 ? `${(value / base).toFixed(2)}×` : UNKNOWN;

/** Three significant digits at most, for charts. */
export const rounded = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en');

export const inConnections = (connections: number): string =>
  connections === 1 ? '1 connection' : `${connections} connections`;
