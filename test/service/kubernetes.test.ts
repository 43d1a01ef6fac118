import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  type Applied,
  errorsOf,
  files,
  folder,
  kustomizations,
  patches,
  read,
  resources,
  unknownFieldsOf,
} from '../support/kubernetes.ts';

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

test('the rules are those of deploy/prometheus', () => {
  const { groups } = read('deploy/prometheus/alerts.yml');
  expect(read(join(folder, 'monitoring', 'prometheus-rule.yaml')).spec).toEqual({ groups });
});

test('only one file names the image', () => {
  const named = kustomizations.filter((file) => read(file).images);
  expect(named).toEqual([join(folder, 'base', 'kustomization.yaml')]);
});

test('pods reach PostgreSQL, PgBouncer and any DNS, and only the ingress controller reaches them', () => {
  const { ingress, egress, policyTypes } = read(join(folder, 'base', 'network-policy.yaml')).spec;
  expect(policyTypes).toEqual(['Ingress', 'Egress']);
  expect(egress).toEqual([
    { ports: [53, 5353].flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }))) },
    { ports: [5432, 6432].map((port) => ({ port, protocol: 'TCP' })) },
  ]);
  expect(ingress.map(({ from }: Applied) => from)).toEqual(
    ['ingress-nginx', 'monitoring'].map((name) => [
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
    ]),
  );
});

test('CloudNativePG creates the database with C.UTF-8, also as LC_CTYPE', () => {
  expect(read(join(folder, 'cloudnative-pg', 'cluster.yaml')).spec.bootstrap.initdb).toMatchObject({
    encoding: 'UTF8',
    localeProvider: 'builtin',
    builtinLocale: 'C.UTF-8',
    localeCType: 'C.UTF-8',
  });
});

describe('the pods', () => {
  const { spec } = read(join(folder, 'base', 'deployment.yaml')).spec.template;
  const job = read(join(folder, 'base', 'migrate-job.yaml')).spec.template.spec;

  test.each([spec, job])('run as in docker-compose.yml: without privileges, on a read-only file system', (pod) => {
    // A number, since Kubernetes cannot tell whether the image's user, which has a name, is root.
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: expect.any(Number) });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('the job ends with the first of its commands that fails', () => {
    expect(job.containers[0].command).toEqual(['sh', '-ec']);
  });

  test('hold no secret', () => {
    const texts = files.map((file) => readFileSync(file, 'utf8'));
    expect(
      texts.filter((text) => /^kind: Secret$/m.test(text) || /:\/\/\w+:\w+@/.test(text.replace(/^ *#.*$/gm, ''))),
    ).toEqual([]);
  });
});
