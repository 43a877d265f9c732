// Each file of deploy/ unchanged: its command, configuration, paths, ports and probes, in containers without an engine.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { freshDatabase } from '../support/postgres/postgres.ts';
import { Link } from '../support/postgres/postgres-link.ts';
import { until } from '../support/until.ts';
import { type Container, runContainer, startContainer, type Volume, whyNoContainers } from './container.ts';
import { dockerfile } from './dockerfile.ts';
import { mustBeFree } from './ports.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));
// biome-ignore lint/suspicious/noExplicitAny: each kind of manifest has another shape
type Any = any;
const yamlOf = (path: string): Any => parse(readFileSync(join(DEPLOY, path), 'utf8'), { merge: true });

const PORTS = [4000, 4001, 4002, 4003];
const START_MS = 120_000;
const DEMO = { authorization: 'Bearer pg-demo-key-for-the-rehearsal-only', 'content-type': 'application/json' };
const TURN = JSON.stringify({ model: 'model-a', input: 'Say hello.' });

/** A folder of this machine that a container has as a volume. */
function folderOf(context: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-volume-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** The secrets that the comments of the files tell an operator to create. */
const SECRETS = { 'store.key': 'a'.repeat(64), 'node.secret': 'b'.repeat(64) };

interface PodRun {
  readonly container: Container;
  readonly volumes: readonly Volume[];
  readonly gateway: Any;
}

/** Runs the init containers of a pod that end, then its gateway. */
async function runPod(
  context: TestContext,
  { file, config, secrets = SECRETS }: { file: string; config: string; secrets?: Readonly<Record<string, string>> },
): Promise<PodRun> {
  const { kind, spec, metadata } = yamlOf(file);
  const pod = kind === 'Pod' ? spec : spec.template.spec;
  const folders = new Map<string, string | undefined>();
  for (const { name, configMap, secret } of pod.volumes) {
    if (configMap) folders.set(name, folderOf(context, { 'config.yaml': readFileSync(join(DEPLOY, config), 'utf8') }));
    else if (secret) folders.set(name, folderOf(context, secrets));
    else folders.set(name, folderOf(context));
  }
  for (const { metadata: claim } of spec.volumeClaimTemplates ?? []) folders.set(claim.name, folderOf(context));
  const optionsOf = ({ command, args, env = [], volumeMounts = [] }: Any) => ({
    ...(command && { command }),
    ...(args && { args }),
    env: Object.fromEntries(env.map(({ name, value, valueFrom }: Any) => [name, value ?? FIELDS[valueFrom.fieldRef.fieldPath]])),
    volumes: [...volumeMounts.map(({ name, mountPath, readOnly = false }: Any) => ({ at: mountPath, from: folders.get(name), readOnly }))],
    hostname: `${metadata.name}-0`,
  });
  const inits: readonly Any[] = pod.initContainers ?? [];
  for (const init of inits.filter(({ restartPolicy }) => restartPolicy !== 'Always')) await runContainer(context, optionsOf(init));
  const gateway = [...inits, ...pod.containers].find(({ name }) => name === 'poolgate');
  const options = optionsOf(gateway);
  const container = startContainer(context, options);
  await serving(container);
  return { container, volumes: options.volumes, gateway };
}

const FIELDS: Readonly<Record<string, string>> = { 'status.podIP': '127.0.0.1', 'metadata.name': 'poolgate-0' };

/** @returns its start-up line */
const serving = (container: Container): Promise<string> =>
  until(
    'the start-up line',
    () => {
      if (container.process.exitCode !== null) throw new Error(`the container ended: ${container.err}${container.out}`);
      return /^poolgate serves .*$/m.exec(container.out)?.[0];
    },
    START_MS,
  );

async function turn(host = '127.0.0.1'): Promise<Any> {
  const answer = await fetch(`http://${host}:4000/v1/responses`, { method: 'POST', headers: DEMO, body: TURN });
  const json = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(json));
  assert.equal((json as Any).status, 'completed');
  return json;
}

/** Makes each probe of a container as Kubernetes would, until it passes. */
async function probed(gateway: Any): Promise<void> {
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    const { path, port } = gateway[probe].httpGet;
    const number = gateway.ports.find(({ name }: Any) => name === port).containerPort;
    await until(probe, async () => (await fetch(`http://127.0.0.1:${number}${path}`)).ok || undefined, START_MS);
  }
  const metrics = await (await fetch('http://127.0.0.1:4003/metrics')).text();
  assert.match(metrics, /^poolgate_turns_total \d+$/m);
}

suite('containers', { skip: whyNoContainers() ?? false }, () => {
  test('a container of the image is no root, and writes nothing but its volumes', async (context) => {
    const places = ['/x', '/etc/x', '/usr/x', '/poolgate/x', '/poolgate/proxy/x', '/poolgate/data/x', '/tmp/x'];
    const script = `const { writeFileSync } = require('node:fs');
      const tried = ${JSON.stringify(places)}.map((path) => { try { writeFileSync(path, ''); return 'written'; } catch ({ code }) { return code; } });
      console.log(JSON.stringify({ user: process.getuid(), tried }));`;
    const out = await runContainer(context, { command: ['node', '--eval', script], volumes: [{ at: '/tmp' }, { at: '/poolgate/data' }] });
    assert.deepEqual(JSON.parse(out), { user: 1000, tried: [...Array(5).fill('EROFS'), 'written', 'written'] });
  });

  test('the Compose file for one node', async (context) => {
    await mustBeFree(PORTS);
    const { gateway } = yamlOf('single/compose.yaml').services;
    const volumes: Volume[] = [
      ...gateway.tmpfs.map((at: string) => ({ at })),
      ...gateway.volumes.map((text: string) => {
        const [from = '', at = '', mode] = text.split(':');
        const isFile = from.startsWith('./');
        return { at, from: isFile ? join(DEPLOY, 'single', from) : folderOf(context), readOnly: mode === 'ro' };
      }),
    ];
    const container = startContainer(context, { volumes });
    assert.match(await serving(container), /^poolgate serves http:\/\/0\.0\.0\.0:4000, admin http:\/\/127\.0\.0\.1:4001/);
    await turn();
    // The health check of the image, and the advice of the file: `docker compose exec gateway node proxy/main.ts doctor`.
    await runContainer(context, { command: dockerfile().healthcheck, volumes });
    const doctor = await runContainer(context, { command: ['node', 'proxy/main.ts', 'doctor', '--offline'], volumes });
    assert.match(doctor, /A gateway runs and takes traffic\./);
  });

  test('the StatefulSet, with its probes, and its volume outlives the pod', async (context) => {
    await mustBeFree(PORTS);
    const { container, gateway, volumes } = await runPod(context, {
      file: 'kubernetes/sqlite/stateful-set.yaml',
      config: 'kubernetes/sqlite/config.yaml',
    });
    await probed(gateway);
    const { id } = await turn();
    const ended = once(container.process, 'close');
    container.process.kill('SIGTERM');
    await ended;
    assert.equal(container.process.exitCode, 0, container.err);
    const again = startContainer(context, { args: gateway.args, volumes });
    await serving(again);
    const headers = { 'x-poolgate-command': '1' };
    const rows = await (await fetch('http://127.0.0.1:4001/api/requests', { headers })).text();
    assert.ok(id && rows.includes('model-a'), 'the row of the turn before');
  });

  test('the Deployment on PostgreSQL, with its init container and its probes', async (context) => {
    await mustBeFree(PORTS);
    const url = await databaseUrl(context);
    const { gateway } = await runPod(context, {
      file: 'kubernetes/postgres/deployment.yaml',
      config: 'kubernetes/postgres/config.yaml',
      secrets: { ...SECRETS, 'postgres.url': url },
    });
    await probed(gateway);
    await turn();
    const status: Any = await (await fetch('http://127.0.0.1:4001/api/status')).json();
    assert.deepEqual(
      status.sharing.nodes.map(({ node, address }: Any) => [node, address]),
      [['poolgate-0', 'http://127.0.0.1:4002']],
    );
  });

  test('the sidecar: its exec probe, and a turn over the socket that its agent has', async (context) => {
    await mustBeFree([4001]);
    const { gateway, volumes } = await runPod(context, { file: 'kubernetes/sidecar/pod.yaml', config: 'kubernetes/sidecar/config.yaml' });
    await runContainer(context, { command: gateway.startupProbe.exec.command, volumes });
    const folder = volumes.find(({ at }) => at === '/run/poolgate')?.from ?? '';
    const asked = request({ socketPath: join(folder, 'poolgate.sock'), path: '/v1/responses', method: 'POST', headers: DEMO });
    const responded = once(asked, 'response');
    asked.end(TURN);
    const [response] = await responded;
    assert.equal(response.statusCode, 200);
    response.resume();
    await mustBeFree([4000, 4002, 4003]);
  });

  test('the three nodes of the Compose file answer a turn each, and share what they know', async (context) => {
    const { services } = yamlOf('nodes/compose.yaml');
    const nodes = Object.entries<Any>(services).filter(([, { hostname }]) => hostname !== undefined);
    assert.equal(nodes.length, 3);
    const addressOf = (index: number): string => `127.0.0.${11 + index}`;
    for (const [index] of nodes.entries()) await mustBeFree(PORTS, addressOf(index));
    const url = await databaseUrl(context);
    const secrets = folderOf(context, { ...SECRETS, 'postgres.url': url });
    const hosts = Object.fromEntries(nodes.map(([, { hostname }], index) => [hostname, addressOf(index)]));
    const config = readFileSync(join(DEPLOY, 'nodes', 'config.yaml'), 'utf8');
    const started = await Promise.all(
      nodes.map(async ([, node], index) => {
        // Containers have separate addresses; here each has an address of the loopback network.
        const own = config.replaceAll(/host: (?:0\.0\.0\.0|127\.0\.0\.1),/g, `host: ${addressOf(index)},`);
        const folder = folderOf(context, { 'config.yaml': own });
        const volumes: Volume[] = [
          ...node.tmpfs.map((at: string) => ({ at })),
          ...node.volumes.map((text: string) => ({
            at: text.split(':')[1] ?? '',
            from: join(folder, basename(text.split(':')[0] ?? '')),
            readOnly: true,
          })),
          ...node.secrets.map((name: string) => ({ at: `/run/secrets/${name}`, from: join(secrets, name), readOnly: true })),
          { at: '/poolgate/data' },
        ];
        const container = startContainer(context, { volumes, hostname: node.hostname, hosts });
        await serving(container);
        return { id: node.hostname as string, address: addressOf(index) };
      }),
    );
    for (const { address } of started) await turn(address);
    for (const { id, address } of started) {
      const admin = `http://${address}:4001`;
      const known = await until('all nodes', async () => {
        const { sharing }: Any = await (await fetch(`${admin}/api/status`)).json();
        return sharing.nodes.length === 3 ? sharing.nodes : undefined;
      });
      assert.equal(known.find(({ state }: Any) => state === 'this').node, id);
      assert.deepEqual(known.map(({ node }: Any) => node).toSorted(), started.map((one) => one.id).toSorted());
      // Each gateway sees the turns of all.
      await until('the usage of three turns', async () => {
        const usage: Any = await (await fetch(`http://${address}:4000/v1/usage`, { headers: DEMO })).json();
        return usage.request_count === 3 || undefined;
      });
    }
  });
});

/** A database that is reached over TCP, as in the files. */
async function databaseUrl(context: TestContext): Promise<string> {
  const url = await freshDatabase();
  const link = await Link.open(url);
  context.after(() => link.close());
  return link.url(url);
}
