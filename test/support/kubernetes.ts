import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Cluster, ScheduledBackup } from '@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1';
import { PrometheusRule, ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job } from 'kubernetes-models/batch/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service } from 'kubernetes-models/v1';
import { parse } from 'yaml';

export const folder = 'deploy/kubernetes';

type Model = new (data: never) => { validate: () => void };
const models: Record<string, Model> = {
  Cluster,
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  PrometheusRule,
  ScheduledBackup,
  Service,
  ServiceMonitor,
};

type Json = { [name: string]: Json } | Json[] | string | number | null;
type Resource = { kind: string; metadata: { name: string }; [name: string]: Json };

export const read = (file: string) => parse(readFileSync(file, 'utf8'));
export const files = globSync(`${folder}/**/*.yaml`);
export const kustomizations = files.filter((file) => basename(file) === 'kustomization.yaml');
export const patches = files.filter((file) => file.endsWith('-patch.yaml'));
export const resources = files.filter((file) => !kustomizations.includes(file) && !patches.includes(file));

/** @returns the errors, one a line */
export const errorsOf = (resource: Resource): string => {
  const model = models[resource.kind] as Model;
  // The classes check `kind` and `apiVersion` before they validate the rest.
  try {
    new model(resource as never).validate();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

/** The paths of all fields. */
const pathsOf = (value: Json, path: string[] = []): string[][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, member]) => [[...path, name], ...pathsOf(member, [...path, name])])
    : [];

/** No field of a resource may have this value. */
const WRONG = [[[]]];

/** The same with a wrong value at the path. */
const withWrong = <Value>(value: Value, [name = '', ...rest]: string[]): Value => {
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  copy[name] = rest.length === 0 ? WRONG : withWrong(copy[name], rest);
  return copy as Value;
};

/** The schemas allow unknown fields. One that is known is not valid with a wrong value. */
export const unknownFieldsOf = (resource: Resource): string[] => {
  const before = errorsOf(resource);
  const isUnknown = (path: string[]) => errorsOf(withWrong(resource, path)) === before;
  return pathsOf(resource)
    .filter(isUnknown)
    .map((path) => path.join('.'));
};

/** What YAML holds; tests check it against the schemas. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Applied = any;
