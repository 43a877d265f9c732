// One simulated account: its settings, and its state while the provider runs.
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../../turn/json/json.ts';
import { type ApiSettings, apiSettings, type NamedApi } from '../apis/api-settings.ts';
import { Authorization } from '../login/authorization.ts';
import { BearerRefused, SimulatedError } from '../provider-error.ts';
import type { AccountProfile, SimulatedQuota } from './account-profiles.ts';
import { type RehearsalLogin, SimulatedLogin } from './login.ts';
import { type Manners, PLATFORM, POLITE, STRICT } from './manners.ts';
import { SimulatedCache } from './simulated-cache.ts';
import { SimulatedFiles } from './simulated-files.ts';

export interface RehearsalAccount {
  readonly id: string;
  /** Default: steady. */
  readonly profile?: AccountProfile;
  /** Absent: it speaks the native agent API. */
  readonly api?: NamedApi;
  /** The bearer that it requires; without one every Authorization is accepted, and none is needed. */
  readonly credential?: string | undefined;
  /** The header that has the credential as it is, in place of a bearer. */
  readonly credentialHeader?: string;
  /** Replaces the single bearer: the tokens that its token endpoint, `POST /oauth/token`, issues for refresh tokens and for logins. */
  readonly oauth?: RehearsalLogin;
  /** Its catalog entries; default: the sample models. */
  readonly models?: readonly JsonObject[];
  /** Default: a primary window that fills as turns are answered, and a secondary window at 3 %. */
  readonly quota?: SimulatedQuota;
  /** Default true: refuses what a strict provider refuses. False checks the credential only, and has polite manners. */
  readonly strict?: boolean;
  /** What differs from the manners of its profile. */
  readonly manners?: Partial<Manners>;
  /** Headers without which a network's guard answers with a page (RB3); default: those of its profile. */
  readonly requiredHeaders?: readonly string[];
  /** `refused`: answers every upgrade with 426. Default: speaks the Responses websocket. */
  readonly websocket?: 'refused';
}

export class SimulatedAccount {
  readonly settings: RehearsalAccount;
  /** Marks what belongs to this account (ciphertext, turn state) without its id: only the demo text shows the id. */
  readonly tag: string;
  readonly login: SimulatedLogin | undefined;
  /** Of the logins that begin here. */
  readonly authorization: Authorization | undefined;
  readonly manners: Manners;
  /** Undefined for an agent account. */
  readonly api: ApiSettings | undefined;
  readonly files = new SimulatedFiles();
  readonly cache = new SimulatedCache();
  /** Turns received so far. */
  turns = 0;

  constructor(settings: RehearsalAccount) {
    this.settings = settings;
    this.tag = createHash('sha256').update(`rehearsal account ${settings.id}`).digest('hex').slice(0, 12);
    this.api = settings.api && apiSettings(settings.api);
    const usual = this.api ? PLATFORM : this.isStrict ? STRICT : POLITE;
    this.manners = { ...usual, ...settings.profile?.manners, ...settings.manners };
    this.login = settings.oauth && new SimulatedLogin(settings.oauth, this.tag, this.manners.wholeLogins);
    this.authorization = this.login && new Authorization(this.login, settings.id);
  }

  get id(): string {
    return this.settings.id;
  }

  /** Whether it refuses what a strict provider refuses. */
  get isStrict(): boolean {
    return (this.settings.strict ?? true) && !(this.settings.api && this.settings.profile?.acceptsAll === true);
  }

  /**
   * @param now Unix milliseconds
   * @throws BearerRefused, or ProviderError of a polite account, if it does not accept the credential of these headers
   */
  checkCredential(headers: IncomingHttpHeaders, now: number): void {
    const { credential, credentialHeader } = this.settings;
    const { authorization } = headers;
    const isSent = credentialHeader === undefined ? authorization === `Bearer ${credential}` : headers[credentialHeader] === credential;
    const isAccepted = this.login?.accepts(authorization, now) ?? (credential === undefined || isSent);
    if (isAccepted) return;
    if (!this.manners.wholeLogins) throw new SimulatedError(401, 'invalid_api_key', 'The credential is not valid.');
    throw new BearerRefused(this.login?.ended ?? 'token_expired');
  }

  /** Whether a network's guard lets a request with these headers pass: each required one is there, and a user agent has a version. */
  passesGuard(headers: IncomingHttpHeaders): boolean {
    const required = this.settings.requiredHeaders ?? this.settings.profile?.requiredHeaders ?? [];
    return required.every((name) => {
      const value = headers[name];
      return name === 'user-agent' ? /\/\d+\.\d+\.\d+/.test(String(value)) : value !== undefined && value !== '';
    });
  }

  /** An opaque value that belongs to this account, such as ciphertext or a turn state. */
  bind(prefix: string, id: string): string {
    return `${prefix}_${this.tag}_${id}`;
  }

  /** Whether this account issued the value. */
  isOwn(value: string): boolean {
    return /^[a-z]+_([0-9a-f]{12})_/.exec(value)?.[1] === this.tag;
  }

  /** Whether another rehearsal account issued the value. Values of unknown origin belong to every account, so that recordings can be replayed. */
  isForeign(value: string): boolean {
    const tag = /^[a-z]+_([0-9a-f]{12})_/.exec(value)?.[1];
    return tag !== undefined && tag !== this.tag;
  }
}
