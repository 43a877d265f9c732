// The files of deploy/: they name what exists, their containers are locked down, and each of their commands and configurations runs and
// answers.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { inspect } from '../../proxy/config/loading/load.ts';
import { COMMAND } from '../support/program/program-run.ts';
import { until } from '../support/until.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));
const textOf = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: the shapes of manifests are many
type Any = any;
const yamlOf = (path: string): Any => parse(textOf(path));

const KUSTOMIZED = ['kubernetes/sqlite', 'kubernetes/postgres'];
/** Files with pods, and the configuration of their gateway. */
const PODS: readonly (readonly [file: string, config: string])[] = [
  ['kubernetes/sqlite/stateful-set.yaml', 'kubernetes/sqlite/config.yaml'],
  ['kubernetes/postgres/deployment.yaml', 'kubernetes/postgres/config.yaml'],
  ['kubernetes/sidecar/pod.yaml', 'kubernetes/sidecar/config.yaml'],
];
const CONFIGS = [...PODS.map(([, config]) => config), 'single/config.yaml', 'nodes/config.yaml'];

const podOf = (file: string): Any => {
  const { kind, spec } = yamlOf(file);
  return kind === 'Pod' ? spec : spec.template.spec;
};
const containersOf = (pod: Any): Any[] => [...(pod.initContainers ?? []), ...pod.containers];
const gatewayOf = (pod: Any): Any => containersOf(pod).find(({ name }) => name === 'poolgate');

test('each kustomization names files that exist, and one image of this version', () => {
  for (const folder of [...KUSTOMIZED, 'kubernetes/base']) {
    const { resources, configMapGenerator = [], images = [] } = yamlOf(`${folder}/kustomization.yaml`);
    for (const path of [...resources, ...configMapGenerator.flatMap(({ files }: Any) => files)]) {
      assert.ok(existsSync(join(DEPLOY, folder, path)), `${folder}: ${path}`);
    }
    for (const { newTag } of images) assert.equal(newTag, manifest.version);
  }
  assert.match(textOf('../Dockerfile'), new RegExp(`org\\.opencontainers\\.image\\.version="${manifest.version}"`));
  assert.match(textOf('kubernetes/sidecar/pod.yaml'), new RegExp(`poolgate:${manifest.version}`));
});

test('every manifest is one document with a kind, a version and a name', () => {
  const files = [
    ...PODS.map(([file]) => file),
    ...['service', 'network-policy', 'disruption-budget', 'service-monitor'].map((name) => `kubernetes/base/${name}.yaml`),
  ];
  for (const file of files) {
    const documents = parseAllDocuments(textOf(file));
    assert.equal(documents.length, 1);
    const { apiVersion, kind, metadata } = yamlOf(file);
    assert.ok(apiVersion && kind && metadata.name, file);
  }
});

test('containers run without root, rights and a writable file system, and end after the drain', async () => {
  for (const [file, config] of PODS) {
    const pod = podOf(file);
    assert.equal(pod.securityContext.runAsNonRoot, true);
    for (const { name, securityContext } of containersOf(pod)) {
      assert.deepEqual(
        securityContext,
        { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        `${file}: ${name}`,
      );
    }
    const { config: loaded } = await inspect(textOf(config), { path: join(DEPLOY, config), secrets: false });
    assert.equal(pod.terminationGracePeriodSeconds * 1000, (loaded?.timeouts.drain_ms ?? 0) + 15_000);
    const mounted = new Set(pod.volumes.map(({ name }: Any) => name).concat(file.includes('stateful') ? ['data'] : []));
    for (const { volumeMounts } of containersOf(pod)) for (const { name } of volumeMounts) assert.ok(mounted.has(name), `${file}: ${name}`);
  }
  const { gateway } = yamlOf('single/compose.yaml').services;
  assert.deepEqual([gateway.read_only, gateway.cap_drop, gateway.stop_grace_period], [true, ['ALL'], '40s']);
});

test('ports of containers, services, probes and policies are those that the configuration listens on', async () => {
  for (const [file, config] of PODS) {
    const { listen, metrics, node } = yamlOf(config);
    const gateway = gatewayOf(podOf(file));
    const ports = Object.fromEntries((gateway.ports ?? []).map(({ name, containerPort }: Any) => [name, containerPort]));
    const wanted = listen.port === false ? {} : { http: listen.port, metrics: metrics.port, ...(node && { nodes: node.listen.port }) };
    assert.deepEqual(ports, wanted, file);
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
      const asked = gateway[probe]?.httpGet;
      if (asked) assert.ok(ports[asked.port] === metrics.port && ['/healthz', '/readyz'].includes(asked.path));
    }
  }
  const { ports } = yamlOf('kubernetes/base/service.yaml').spec;
  assert.deepEqual(
    ports.map(({ port }: Any) => port),
    [4000, 4003],
  );
  const { ingress } = yamlOf('kubernetes/base/network-policy.yaml').spec;
  assert.deepEqual(
    ingress.flatMap((rule: Any) => rule.ports.map(({ port }: Any) => port)),
    [4000, 4003, 4002],
  );
  assert.deepEqual(yamlOf('single/compose.yaml').services.gateway.ports, ['4000:4000']);
});

test('every configuration passes the checks', async () => {
  for (const config of CONFIGS) {
    const { findings } = await inspect(textOf(config), { path: join(DEPLOY, config), secrets: false });
    assert.deepEqual(findings, [], config);
  }
});

test('the init container writes the address of the pod into the configuration', () => {
  const [init] = podOf('kubernetes/postgres/deployment.yaml').initContainers;
  assert.match(init.command[2], /^sed "s\/POD_IP\/\$POD_IP\/" \/etc\/poolgate\/config\.yaml > \/run\/poolgate\/config\.yaml$/);
  assert.equal(textOf('kubernetes/postgres/config.yaml').match(/http:\/\/POD_IP:4002/g)?.length, 1);
  assert.deepEqual(gatewayOf(podOf('kubernetes/postgres/deployment.yaml')).args, ['serve', '--config', '/run/poolgate/config.yaml']);
});

/** Runs the command of a container on its configuration, with its paths in a folder of the test and free ports. @returns the start-up line */
async function run(
  context: TestContext,
  config: string,
  args: readonly string[],
): Promise<{ readonly line: string; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-deploy-'));
  const local = textOf(config)
    .replaceAll('/run/secrets/poolgate/', `${folder}/`)
    .replaceAll('/run/poolgate/', `${folder}/`)
    .replaceAll('/poolgate/data/', `${folder}/data/`)
    .replace(/port: \d+/g, 'port: 0');
  writeFileSync(join(folder, 'store.key'), 'a key of the tests, long enough');
  writeFileSync(join(folder, 'config.yaml'), local);
  const given = args.map((arg) => (arg.endsWith('config.yaml') ? join(folder, 'config.yaml') : arg));
  const child = spawn(process.execPath, [...COMMAND, ...given], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  let out = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  return { line: await until('the start-up line', () => /^poolgate serves .*$/m.exec(out)?.[0], 60_000), folder };
}

const DEMO = { authorization: 'Bearer pg-demo-key-for-the-rehearsal-only' };

test('the StatefulSet and the Compose file for one node run, and their probes are answered', async (context) => {
  for (const [config, args] of [
    ['kubernetes/sqlite/config.yaml', gatewayOf(podOf('kubernetes/sqlite/stateful-set.yaml')).args],
    ['single/config.yaml', ['serve']],
  ] as const) {
    const { line } = await run(context, config, args);
    const [main, metrics] = [/serves (\S+?),/.exec(line)?.[1], /metrics (\S+)/.exec(line)?.[1]];
    const port = Number(new URL(main ?? '').port);
    assert.equal((await fetch(`http://127.0.0.1:${port}/v1/models`, { headers: DEMO })).status, 200);
    if (!metrics) continue;
    for (const path of ['/healthz', '/readyz']) {
      const answers = async () => (await fetch(`http://127.0.0.1:${new URL(metrics).port}${path}`)).status === 200 || undefined;
      await until(path, answers);
    }
  }
});

test('the sidecar opens no port for clients, and answers at its socket', async (context) => {
  const pod = podOf('kubernetes/sidecar/pod.yaml');
  const { line, folder } = await run(context, 'kubernetes/sidecar/config.yaml', gatewayOf(pod).args);
  assert.match(line, /^poolgate serves \S+\/poolgate\.sock, admin http/);
  const asked = request({ socketPath: join(folder, 'poolgate.sock'), path: '/v1/models', headers: DEMO });
  const responded = once(asked, 'response');
  asked.end();
  const [{ statusCode }] = await responded;
  assert.equal(statusCode, 200);
  assert.equal(dirname(/serves (\S+),/.exec(line)?.[1] ?? ''), folder);
});
