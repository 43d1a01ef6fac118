import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Cluster, ScheduledBackup } from '@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1';
import { PrometheusRule, ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job } from 'kubernetes-models/batch/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service } from 'kubernetes-models/v1';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig, variableNames } from '../../src/config/config.ts';
import { openApiDocument } from '../../src/openapi-document.ts';
import { describeUnless } from '../support/skip.ts';

const folder = 'deploy/kubernetes';

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

/** What YAML holds; the tests above check it against the schemas. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Applied = any;

/** The resources of a kustomization without bases and patches, as `kubectl apply -k` sends them. */
const assemble = (name: string): Applied[] => {
  const { resources: names, labels, images } = read(join(folder, name, 'kustomization.yaml'));
  return names.map((file: string) => {
    const resource = read(join(folder, name, file));
    resource.metadata.labels = { ...resource.metadata.labels, ...labels[0].pairs };
    const [{ newName, newTag }] = images ?? [{}];
    for (const container of resource.spec.template?.spec.containers ?? []) container.image = `${newName}:${newTag}`;
    return resource;
  });
};

const render = (name: string): Applied[] => {
  const text = execFileSync('kubectl', ['kustomize', join(folder, name)], { encoding: 'utf8' });
  return parseAllDocuments(text).map((document) => document.toJS());
};

/** `labels` of a kustomization are known from 4.1 on. Debian's kubectl has 2. */
const findKubectlObstacle = () => {
  const { error, stdout } = spawnSync('kubectl', ['version', '--client'], { encoding: 'utf8' });
  return error || !/^Kustomize Version: v[5-9]/m.test(stdout) ? 'kubectl 1.27 or later is not installed' : undefined;
};
const kubectlObstacle = findKubectlObstacle();

/** Registers tests that names and values in resources agree with each other and with the rest of the project. */
const describeAgreement = (of: () => Applied[]) => {
  let all: Applied[];
  let pod: Applied;
  let container: Applied;
  let podLabels: object;
  let variables: Record<string, string>;
  const ofKind = (kind: string) => all.find((resource) => resource.kind === kind);
  beforeAll(() => {
    all = of();
    const { template } = ofKind('Deployment').spec;
    podLabels = template.metadata.labels;
    pod = template.spec;
    [container] = pod.containers;
    variables = Object.fromEntries(
      container.env.map(({ name, value }: Applied) => [name, value ?? 'postgresql://x/y']),
    );
  });
  const portNames = () => container.ports.map(({ name }: Applied) => name);

  test('what selects pods selects those of the service, and no others', () => {
    const selectors = [
      ofKind('Deployment').spec.selector.matchLabels,
      ofKind('Service').spec.selector,
      ofKind('PodDisruptionBudget').spec.selector.matchLabels,
      ...pod.topologySpreadConstraints.map(({ labelSelector }: Applied) => labelSelector.matchLabels),
    ];
    for (const selector of selectors) {
      expect(podLabels).toMatchObject(selector);
      expect(ofKind('Job').spec.template.metadata.labels).not.toMatchObject(selector);
    }
    const policy = ofKind('NetworkPolicy').spec.podSelector.matchLabels;
    expect(podLabels).toMatchObject(policy);
    expect(ofKind('Job').spec.template.metadata.labels).toMatchObject(policy);
    expect(ofKind('Service').metadata.labels).toMatchObject(ofKind('ServiceMonitor').spec.selector.matchLabels);
  });

  test('ports have the names and numbers that the service has', () => {
    const dockerfile = readFileSync('Dockerfile', 'utf8');
    expect(container.ports).toEqual([
      { name: 'http', containerPort: readConfig({}).port },
      { name: 'metrics', containerPort: Number(/METRICS_PORT=(\d+)/.exec(dockerfile)?.[1]) },
    ]);
    const { ports } = ofKind('Service').spec;
    expect(ports.map(({ targetPort }: Applied) => targetPort)).toEqual(portNames());
    const [ingress, scrape] = ofKind('NetworkPolicy').spec.ingress;
    expect([ingress.ports[0].port, scrape.ports[0].port]).toEqual(portNames());
    expect(ports).toContainEqual(expect.objectContaining({ name: ofKind('ServiceMonitor').spec.endpoints[0].port }));
  });

  test('probes ask routes of the service', () => {
    const { paths } = openApiDocument;
    for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      expect(httpGet.port).toBe('metrics');
      expect(paths).toHaveProperty([httpGet.path, 'get']);
    }
    expect(container.livenessProbe.httpGet.path).toBe('/livez');
    expect(container.readinessProbe.httpGet.path).toBe('/readyz');
  });

  test('the autoscaler scales the deployment, and keeps enough pods for a disruption', () => {
    const deployment = ofKind('Deployment');
    const { scaleTargetRef, minReplicas } = ofKind('HorizontalPodAutoscaler').spec;
    expect(scaleTargetRef).toEqual({
      apiVersion: deployment.apiVersion,
      kind: deployment.kind,
      name: deployment.metadata.name,
    });
    expect(deployment.spec.replicas).toBeUndefined();
    expect(minReplicas).toBeGreaterThan(ofKind('PodDisruptionBudget').spec.maxUnavailable);
  });

  test('no service of the namespace sets a variable: one named `metrics` would set METRICS_PORT', () => {
    for (const kind of ['Deployment', 'Job']) expect(ofKind(kind).spec.template.spec.enableServiceLinks).toBe(false);
  });

  test('the service knows all variables; a pod has more time to stop than they allow', () => {
    expect(Object.keys(variables).filter((name) => !variableNames.includes(name as never))).toEqual(['PGPASSWORD']);
    const { shutdownDelay, shutdownTimeout, trustProxy } = readConfig(variables);
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(shutdownDelay + shutdownTimeout);
    expect(shutdownDelay).toBeGreaterThan(0);
    expect(trustProxy).toBe(1);
  });

  test('secrets are those that the documentation creates, or those of CloudNativePG', () => {
    const documentation = readFileSync('docs/how-to/deploy-kubernetes.md', 'utf8');
    const known = [...documentation.matchAll(/^kubectl create secret generic (\S+) (.*)$/gm)].flatMap(
      ([, name, options = '']) => [...options.matchAll(/--from-literal=(\w+)=/g)].map(([, key]) => `${name} ${key}`),
    );
    const cluster = ofKind('Cluster')?.metadata.name;
    if (cluster) known.push(`${cluster}-app password`, `${cluster}-ca ca.crt`);
    const pods = [pod, ofKind('Job').spec.template.spec];
    const ofVariables = pods
      .flatMap(({ containers }) => containers[0].env)
      .flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
    const ofVolumes = pods
      .flatMap(({ volumes = [] }) => volumes)
      .flatMap(({ secret }: Applied) => secret.items.map(({ key }: Applied) => ({ name: secret.secretName, key })));
    const used = [...ofVariables, ...ofVolumes].map(({ name, key }) => `${name} ${key}`);
    expect(known).toEqual(expect.arrayContaining(used));
    expect(used).toContain('plant-store password');
  });

  test('all images, and the name of the job, have the version of the package', () => {
    const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(ofKind('Job').metadata.name).toBe(`${name}-migrate-${version.replaceAll('.', '-')}`);
    const images = [container, ...ofKind('Job').spec.template.spec.containers].map(({ image }) => image);
    expect(new Set(images)).toEqual(new Set([`${name}:${version}`]));
  });
};

test('the rules are those of deploy/prometheus', () => {
  const { groups } = read('deploy/prometheus/alerts.yml');
  expect(read(join(folder, 'monitoring', 'prometheus-rule.yaml')).spec).toEqual({ groups });
});

test('only one file names the image', () => {
  const named = kustomizations.filter((file) => read(file).images);
  expect(named).toEqual([join(folder, 'base', 'kustomization.yaml')]);
});

test('pods reach PostgreSQL, PgBouncer and any DNS, and only the ingress controller reaches them', () => {
  const { ingress, egress } = read(join(folder, 'base', 'network-policy.yaml')).spec;
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

describe('the base and what monitors it', () => {
  describeAgreement(() => [...assemble('base'), ...assemble('monitoring')]);
});

describeUnless(kubectlObstacle, 'as kubectl renders them', () => {
  describe('the base', () => {
    describeAgreement(() => [...render('.'), ...render('monitoring')]);
  });

  describe('the overlay with CloudNativePG', () => {
    describeAgreement(() => [...render('cloudnative-pg'), ...render('monitoring')]);

    test('connects to its cluster, as a role that cannot own tables, with a certificate that is there', () => {
      const all = render('cloudnative-pg');
      const [deployment, cluster] = ['Deployment', 'Cluster'].map((kind) => all.find((one) => one.kind === kind));
      const { containers, volumes } = deployment.spec.template.spec;
      const [{ env, volumeMounts }] = containers;
      const url = new URL(env.find(({ name }: Applied) => name === 'DATABASE_URL').value);
      expect([url.hostname, url.pathname]).toEqual([
        `${cluster.metadata.name}-rw`,
        `/${cluster.spec.bootstrap.initdb.database}`,
      ]);
      expect(url.username).not.toBe(cluster.spec.bootstrap.initdb.owner);
      expect(url.searchParams.get('sslrootcert')).toBe(
        `${volumeMounts[0].mountPath}/${volumes[0].secret.items[0].path}`,
      );
      expect(volumeMounts[0].name).toBe(volumes[0].name);
      const { containers: ofJob, volumes: volumesOfJob } = all.find((one) => one.kind === 'Job').spec.template.spec;
      const ownerUrl = new URL(ofJob[0].env.find(({ name }: Applied) => name === 'DATABASE_URL').value);
      expect(ownerUrl.username).toBe(cluster.spec.bootstrap.initdb.owner);
      expect(Object.assign(ownerUrl, { username: url.username }).href).toBe(url.href);
      expect([ofJob[0].volumeMounts, volumesOfJob]).toEqual([volumeMounts, volumes]);
    });

    test('is backed up in its own cluster', () => {
      const all = render('cloudnative-pg');
      const [backup, cluster] = ['ScheduledBackup', 'Cluster'].map((kind) => all.find((one) => one.kind === kind));
      expect(backup.spec.cluster.name).toBe(cluster.metadata.name);
      // A snapshot of a running PostgreSQL would need an archive of its write-ahead log.
      expect([backup.spec.online, cluster.spec.backup.volumeSnapshot.online]).toEqual([false, false]);
      expect(cluster.spec.instances).toBeGreaterThan(2);
    });
  });

  test.each(['.', 'monitoring', 'cloudnative-pg'])('%s is valid', (name) => {
    for (const resource of render(name)) {
      expect([resource.kind, errorsOf(resource), unknownFieldsOf(resource)]).toEqual([resource.kind, '', []]);
    }
  });
});

describe('the pods', () => {
  const { spec } = read(join(folder, 'base', 'deployment.yaml')).spec.template;
  const job = read(join(folder, 'base', 'migrate-job.yaml')).spec.template.spec;

  test.each([spec, job])('run as in docker-compose.yml: without privileges, on a read-only file system', (pod) => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('hold no secret', () => {
    const texts = files.map((file) => readFileSync(file, 'utf8'));
    expect(
      texts.filter((text) => /^kind: Secret$/m.test(text) || /:\/\/\w+:\w+@/.test(text.replace(/^ *#.*$/gm, ''))),
    ).toEqual([]);
  });
});
