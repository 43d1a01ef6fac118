/** A sample in the Prometheus text format: `name{label="value"} 1`. */
export type Sample = { name: string; labels: Record<string, string>; value: number };

/** Reads the metrics at a URL, as Prometheus does. */
export const scrape = async (url: string) => {
  const response = await fetch(url);
  const text = await response.text();
  const samples = text.split('\n').flatMap((line) => (/^[a-z]/.test(line) ? [parseSample(line)] : []));
  const matching = (name: string, labels: Record<string, string> = {}) =>
    samples.filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
  return {
    response,
    text,
    samples,
    /** The sum of the samples with this name and these labels; undefined if there are none. */
    value: (name: string, labels?: Record<string, string>): number | undefined =>
      matching(name, labels).reduce<number | undefined>((sum, { value }) => (sum ?? 0) + value, undefined),
  };
};

const parseSample = (line: string): Sample => {
  const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === '') throw new Error(`not a sample: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value.replace('+Inf', 'Infinity')) };
};
