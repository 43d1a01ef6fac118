import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { HEAP_MIB, readConfig, variableNames } from '../../src/config/config.ts';
import { openApiDocument } from '../../src/openapi-document.ts';
import { type Applied, errorsOf, folder, read, unknownFieldsOf } from '../support/kubernetes.ts';
import { describeUnless } from '../support/skip.ts';

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
    // It responds within a fifth of REQUEST_TIMEOUT.
    expect(container.readinessProbe.timeoutSeconds * 1000).toBeGreaterThan(readConfig(variables).requestTimeout / 5);
  });

  test('a pod may use the heap of the process, and half as much besides', () => {
    expect(Number.parseInt(container.resources.limits.memory, 10)).toBeGreaterThanOrEqual(1.5 * HEAP_MIB);
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

    test('has connections for as many pods as there may be', () => {
      const all = render('cloudnative-pg');
      const [cluster, scaler] = ['Cluster', 'HorizontalPodAutoscaler'].map((kind) =>
        all.find((one) => one.kind === kind),
      );
      const { max_connections: connections } = cluster.spec.postgresql.parameters;
      const { maxReplicas } = scaler.spec;
      // Those of requests, one for checks, four for imports and four to cancel them, and two for exports.
      expect(Number(connections)).toBeGreaterThan(maxReplicas * (readConfig({}).databaseConnections + 11));
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
