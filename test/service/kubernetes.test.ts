import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Cluster } from '@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job } from 'kubernetes-models/batch/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service } from 'kubernetes-models/v1';
import { parse } from 'yaml';

const folder = 'deploy/kubernetes';

type Model = new (data: never) => { validate: () => void };
const models: Record<string, Model> = {
  Cluster,
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ServiceMonitor,
};

type Json = { [name: string]: Json } | Json[] | string | number | null;
type Resource = { kind: string; metadata: { name: string }; [name: string]: Json };

const read = (file: string) => parse(readFileSync(file, 'utf8'));
const files = globSync(`${folder}/**/*.yaml`);
const kustomizations = files.filter((file) => basename(file) === 'kustomization.yaml');
const patches = files.filter((file) => file.endsWith('-patch.yaml'));
const resources = files.filter((file) => !kustomizations.includes(file) && !patches.includes(file));

/** @returns the errors, one a line */
const errorsOf = (resource: Resource): string => {
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
const unknownFieldsOf = (resource: Resource): string[] => {
  const before = errorsOf(resource);
  const isUnknown = (path: string[]) => errorsOf(withWrong(resource, path)) === before;
  return pathsOf(resource)
    .filter(isUnknown)
    .map((path) => path.join('.'));
};

test.each(resources)('%s is valid, and has only fields that Kubernetes knows', (file) => {
  const resource = read(file);
  expect(errorsOf(resource)).toBe('');
  expect(unknownFieldsOf(resource)).toEqual([]);
});

test.each(patches)('%s has only fields that Kubernetes knows', (file) => {
  const resource = read(file);
  const errors = errorsOf(resource).split('\n').filter(Boolean);
  expect(errors.filter((error) => !error.includes('required'))).toEqual([]);
  expect(unknownFieldsOf(resource)).toEqual([]);
});

test('a misspelled field and a wrong value fail these tests', () => {
  const deployment = read(join(folder, 'base', 'deployment.yaml'));
  const [container] = deployment.spec.template.spec.containers;
  Object.assign(container, { readinesProbe: { periodSeconds: 5 } });
  expect(unknownFieldsOf(deployment)).toContain('spec.template.spec.containers.0.readinesProbe');
  container.ports[0].containerPort = 'http';
  expect(errorsOf(deployment)).toContain('containerPort must be integer');
});

test('each file belongs to a kustomization, and each that one names is there', () => {
  const named = kustomizations.flatMap((file) => {
    const { resources: names = [], patches: changes = [] } = read(file);
    const paths: string[] = [...names, ...changes.map(({ path }: { path: string }) => path)];
    return paths.map((path) => join(dirname(file), path));
  });
  const namedFiles = named.map((path) => (path.endsWith('.yaml') ? path : join(path, 'kustomization.yaml')));
  expect(namedFiles.filter((file) => !files.includes(file))).toEqual([]);
  expect([...resources, ...patches].filter((file) => !namedFiles.includes(file))).toEqual([]);
});

describe('the pods', () => {
  const { spec } = read(join(folder, 'base', 'deployment.yaml')).spec.template;
  const job = read(join(folder, 'migrate', 'job.yaml')).spec.template.spec;

  test.each([spec, job])('run as in docker-compose.yml: without privileges, on a read-only file system', (pod) => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('have more time to stop than the service takes', () => {
    const delay = spec.containers[0].env.find(({ name }: { name: string }) => name === 'SHUTDOWN_DELAY');
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(delay.value) + 10);
  });

  test('hold no secret', () => {
    const texts = files.map((file) => readFileSync(file, 'utf8'));
    expect(
      texts.filter((text) => /^kind: Secret$/m.test(text) || /:\/\/\w+:\w+@/.test(text.replace(/^ *#.*$/gm, ''))),
    ).toEqual([]);
  });
});
