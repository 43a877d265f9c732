// nginx and haproxy as relays, if they are installed; they show the cost of a proxy in C for the same bytes.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../children.ts';
import type { Stage } from '../stage.ts';
import type { Relay } from './relay.ts';

const nginxConfig = (directory: string, port: number, upstream: number): string => `
daemon off; master_process off; worker_processes 1; pid ${directory}/nginx.pid; error_log /dev/null;
events { worker_connections 8192; }
http {
  access_log off; tcp_nodelay on; keepalive_requests 1000000000;
  client_body_temp_path ${directory}; proxy_temp_path ${directory};
  fastcgi_temp_path ${directory}; uwsgi_temp_path ${directory}; scgi_temp_path ${directory};
  upstream provider { server 127.0.0.1:${upstream}; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`;

const haproxyConfig = (port: number, upstream: number): string => `
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  option http-no-delay
  http-reuse always
  timeout connect 10s
  timeout client 1h
  timeout server 1h
frontend clients
  bind 127.0.0.1:${port}
  default_backend provider
backend provider
  server one 127.0.0.1:${upstream}
`;

export function startNginx(stage: Stage): Promise<Relay> {
  return startWith(
    stage,
    'nginx.conf',
    (port) => nginxConfig(stage.directory, port, stage.upstream.port),
    (file) => ['nginx', '-c', file],
  );
}

export function startHaproxy(stage: Stage): Promise<Relay> {
  return startWith(
    stage,
    'haproxy.cfg',
    (port) => haproxyConfig(port, stage.upstream.port),
    (file) => ['haproxy', '-db', '-f', file],
  );
}

async function startWith(
  stage: Stage,
  name: string,
  config: (port: number) => string,
  command: (file: string) => readonly string[],
): Promise<Relay> {
  const port = await freePort();
  const file = join(stage.directory, name);
  writeFileSync(file, config(port));
  const child = new Child(stage.cores.pinned('relay', command(file)), { stdio: ['ignore', 'pipe', 'ignore'] });
  for (let tries = 0; tries < 200; tries++) {
    if (await answers(port)) return { port, child, takesOrders: false };
    await sleep(25);
  }
  throw new Error(`${command(file)[0]} did not start`);
}

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/models`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** A port that was free a moment ago, because these programs cannot report a port that they chose. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
