/** Figures as text. An unknown figure is a dash. */
const UNKNOWN = '–';
const MEBIBYTE = 1024 * 1024;

const isKnown = (value: number | undefined): value is number => value !== undefined && Number.isFinite(value);

export const whole = (value?: number): string => (isKnown(value) ? Math.round(value).toLocaleString('en') : UNKNOWN);

/** At least three significant digits. */
export const decimal = (value?: number): string => {
  if (!isKnown(value)) return UNKNOWN;
  return value >= 100 ? whole(value) : value.toFixed(value >= 10 ? 1 : 2);
};

/** At most three significant digits, for charts. */
export const rounded = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en');

export const mebibytes = (bytes?: number): string => whole(bytes === undefined ? undefined : bytes / MEBIBYTE);

export const multiple = (value?: number, base = 1): string =>
  isKnown(value) && base > 0 ? `${(value / base).toFixed(2)}×` : UNKNOWN;

export const inConnections = (connections: number): string =>
  connections === 1 ? '1 connection' : `${connections} connections`;
