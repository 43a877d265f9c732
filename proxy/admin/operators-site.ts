// The site of the admin listener: health and metrics, the sign-in, and the API.
import { RULES } from '../../rules/index.ts';
import { isLoopback } from '../base/process/loopback.ts';
import type { AdminConfig } from '../config/config.ts';
import type { Cipher } from '../encryption/cipher.ts';
import type { McpSources } from '../mcp/mcp-sources.ts';
import { Sessions } from './access/sessions.ts';
import { type SignedIn, SignIn } from './access/sign-in.ts';
import { otherFile } from './access/stated-file.ts';
import { type AdminAnswer, type AdminRequest, type AdminSite, adminJson, BodyTooLarge } from './admin-listener.ts';
import type { AdminTarget } from './admin-target.ts';
import type { RunningLogins } from './answers/logins/running-logins.ts';
import { Api } from './api/api.ts';
import { endpoints } from './api/endpoints.ts';
import { ConsoleSite } from './console/console-site.ts';
import { OperatorFeed } from './feed/operator-feed.ts';
import type { Measurements } from './measurements.ts';

export interface OperatorsSiteOptions {
  readonly logins: RunningLogins;
  readonly gateway: AdminTarget & { readonly services: McpSources['services'] };
  readonly measurements: Measurements;
  /** Seals the cookies of sessions. */
  readonly cipher: Cipher;
  readonly admin: AdminConfig;
}

const SESSION = '/api/session';
const EVENTS = '/api/events';
/** The path of the status beside those of health and metrics (Q33). */
const STATUS = '/status';

export class OperatorsSite implements AdminSite {
  readonly #gateway: AdminTarget;
  readonly #measurements: Measurements;
  readonly #sessions: Sessions;
  readonly #signIn: SignIn;
  readonly #api: Api;
  readonly #feed: OperatorFeed;
  readonly #console: ConsoleSite | undefined;

  constructor({ gateway, logins, measurements, cipher, admin }: OperatorsSiteOptions) {
    const sources = { services: gateway.services, process: gateway, rules: RULES };
    this.#gateway = gateway;
    this.#measurements = measurements;
    this.#sessions = new Sessions(cipher, () => gateway.wallTime());
    this.#signIn = new SignIn({ sources, sessions: this.#sessions, trusted: admin.trusted_header, onLoopback: isLoopback(admin.host) });
    this.#api = new Api(endpoints(gateway, logins));
    this.#feed = new OperatorFeed(gateway);
    this.#console = admin.console ? new ConsoleSite() : undefined;
  }

  isProxied(address: string | undefined): boolean {
    return this.#signIn.isProxied({ address });
  }

  async answer(request: AdminRequest): Promise<AdminAnswer> {
    const { method, path } = request;
    const health = this.#measurements.health(`${method} ${path}`);
    if (health) return health;
    // The files belong to the package and need no sign-in. Rights matter only for the data that they show.
    const file = await this.#console?.answer(request);
    if (file) return file;
    if (path === SESSION && method === 'POST') return this.#begin(request);
    if (path === SESSION && method === 'DELETE') return adminJson(200, {}, { 'set-cookie': this.#sessions.end(request.isSecure) });
    const signedIn = this.#signIn.of(request);
    if (!signedIn) return UNKNOWN;
    const answer = await this.#signed(request, signedIn);
    const { cookie } = signedIn;
    return cookie === undefined ? answer : { ...answer, headers: { ...answer.headers, 'set-cookie': cookie } };
  }

  #begin(request: AdminRequest): AdminAnswer {
    const cookie = this.#signIn.begin(request);
    return cookie === undefined ? UNKNOWN : adminJson(200, {}, { 'set-cookie': cookie });
  }

  async #signed(request: AdminRequest, { asker }: SignedIn): Promise<AdminAnswer> {
    const { method, path, query } = request;
    if (path === '/metrics') {
      if (method !== 'GET') return adminJson(405, { error: 'this path has another method' }, { allow: 'GET' });
      return asker.view().isWhole
        ? this.#measurements.metrics()
        : adminJson(403, { error: 'only an operator with `admin: true` may see them' });
    }
    if (path === EVENTS) return this.#events(request);
    const { status, body, allow } = await this.#api.answer({
      ...{ method, path: path === STATUS ? `/api${path}` : path, query, asker },
      body: (most) => this.#body(request, most),
      otherFile: () => otherFile(request.headers, this.#gateway.loaded.path),
    });
    return adminJson(status, body, allow === undefined ? {} : { allow });
  }

  async #body(request: AdminRequest, most = this.#gateway.loaded.config.limits.admin_body_bytes): Promise<unknown> {
    try {
      return await request.body(most);
    } catch (thrown) {
      if (thrown instanceof BodyTooLarge) this.#gateway.services.counters.add('admin_bodies_too_large');
      throw thrown;
    }
  }

  #events(request: AdminRequest): AdminAnswer {
    if (request.method !== 'GET') return adminJson(405, { error: 'this path has another method' }, { allow: 'GET' });
    const last = request.headers['last-event-id'];
    const stream = this.#feed.open(typeof last === 'string' ? last : undefined, () => this.#signIn.of(request) !== undefined);
    if (!stream) return adminJson(503, { error: 'too many pages are connected' }, { 'retry-after': '5' });
    return { status: 200, type: 'text/event-stream', body: stream, headers: { 'cache-control': 'no-store', 'x-accel-buffering': 'no' } };
  }
}

const UNKNOWN = adminJson(
  401,
  {
    error: 'a sign-in is required: the token of an operator, as Authorization: Bearer, or POST /api/session with it',
    code: 'sign_in_required',
  },
  { 'www-authenticate': 'Bearer' },
);
