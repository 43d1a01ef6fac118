import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';

export type Sampling = {
  /** A value of OTEL_TRACES_SAMPLER (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables). */
  sampler: string;
  /** The part of the traces that is kept, 0 to 1, where the sampler goes by it. */
  ratio: number;
};

/** Decides which traces are kept. OpenTelemetry 3 leaves it to its largest package to read the variable. */
export const createSampler = ({ sampler, ratio }: Sampling): Sampler => {
  if (sampler.startsWith('parentbased_')) {
    return new ParentBasedSampler({ root: createSampler({ sampler: sampler.replace('parentbased_', ''), ratio }) });
  }
  switch (sampler) {
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'always_off':
      return new AlwaysOffSampler();
    default:
      return new AlwaysOnSampler();
  }
};
