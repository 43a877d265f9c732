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
  /** The API that the account speaks. Absent: the native agent API. */
  readonly api?: NamedApi;
  /** The bearer that the account requires. If it is absent, no Authorization is required, and any is accepted. */
  readonly credential?: string | undefined;
  /** The header that carries the credential unchanged, instead of a bearer. */
  readonly credentialHeader?: string;
  /** Replaces the single bearer with the tokens that the token endpoint, `POST /oauth/token`, issues for refresh tokens and logins. */
  readonly oauth?: RehearsalLogin;
  /** The catalog entries. Default: the sample models. */
  readonly models?: readonly JsonObject[];
  /** Default: a primary window that fills as turns are answered, and a secondary window at 3 %. */
  readonly quota?: SimulatedQuota;
  /** Default true: refuses what a strict provider refuses. False checks the credential only, and has polite manners. */
  readonly strict?: boolean;
  /** Manners that differ from those of the profile. */
  readonly manners?: Partial<Manners>;
  /** Headers without which a network's guard answers with a page (RB3). Default: those of the profile. */
  readonly requiredHeaders?: readonly string[];
  /** `refused`: every upgrade is answered with 426. Default: the account speaks the Responses websocket. */
  readonly websocket?: 'refused';
}

export class SimulatedAccount {
  readonly settings: RehearsalAccount;
  /** A mark of this account in its ciphertext and turn states. It is not the account's id, which only the demo text shows. */
  readonly tag: string;
  readonly login: SimulatedLogin | undefined;
  /** The authorization of logins that begin at this account. */
  readonly authorization: Authorization | undefined;
  readonly manners: Manners;
  /** Undefined for an agent account. */
  readonly api: ApiSettings | undefined;
  readonly files = new SimulatedFiles();
  readonly cache = new SimulatedCache();
  /** The number of turns received so far. */
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

  /** Whether the account refuses what a strict provider refuses. */
  get isStrict(): boolean {
    return (this.settings.strict ?? true) && !(this.settings.api && this.settings.profile?.acceptsAll === true);
  }

  /** Checks the credential in the headers. @param now Unix milliseconds @throws BearerRefused, or SimulatedError for a polite account */
  checkCredential(headers: IncomingHttpHeaders, now: number): void {
    const { credential, credentialHeader } = this.settings;
    const { authorization } = headers;
    const isSent = credentialHeader === undefined ? authorization === `Bearer ${credential}` : headers[credentialHeader] === credential;
    const isAccepted = this.login?.accepts(authorization, now) ?? (credential === undefined || isSent);
    if (isAccepted) return;
    if (!this.manners.wholeLogins) throw new SimulatedError(401, 'invalid_api_key', 'The credential is not valid.');
    throw new BearerRefused(this.login?.ended ?? 'token_expired');
  }

  /** Whether a network's guard lets a request pass. It does if each required header is present and the user agent has a version. */
  passesGuard(headers: IncomingHttpHeaders): boolean {
    const required = this.settings.requiredHeaders ?? this.settings.profile?.requiredHeaders ?? [];
    return required.every((name) => {
      const value = headers[name];
      return name === 'user-agent' ? /\/\d+\.\d+\.\d+/.test(String(value)) : value !== undefined && value !== '';
    });
  }

  /** Makes an opaque value that belongs to this account, such as ciphertext or a turn state. */
  bind(prefix: string, id: string): string {
    return `${prefix}_${this.tag}_${id}`;
  }

  /** Whether this account issued the value. */
  isOwn(value: string): boolean {
    return /^[a-z]+_([0-9a-f]{12})_/.exec(value)?.[1] === this.tag;
  }

  /**
   * Whether another rehearsal account issued the value. A value of unknown origin counts as issued by every account, so that recordings can
   * be replayed.
   */
  isForeign(value: string): boolean {
    const tag = /^[a-z]+_([0-9a-f]{12})_/.exec(value)?.[1];
    return tag !== undefined && tag !== this.tag;
  }
}
