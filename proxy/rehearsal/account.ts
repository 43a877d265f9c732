// One simulated account: how it is set up, and what it remembers while the provider runs.
import { createHash } from 'node:crypto';
import type { JsonObject } from '../turn/json.ts';
import { Login, type RehearsalLogin } from './login.ts';
import type { Temperament } from './temperaments.ts';

/** One quota window as this account's provider counts it. */
export interface QuotaWindow {
  readonly used_percent: number;
  readonly window_minutes: number;
  /** Unix seconds; absent: the window's end as reckoned from the clock. */
  readonly reset_at?: number;
}

export interface Quota {
  readonly primary: QuotaWindow | null;
  readonly secondary: QuotaWindow | null;
}

export interface RehearsalAccount {
  readonly id: string;
  /** Default: steady. */
  readonly temperament?: Temperament;
  /** The bearer that it wants; without one any Authorization is taken, and none is needed. */
  readonly credential?: string;
  /** Instead of one bearer: those that its token endpoint, `POST /oauth/token`, hands out. */
  readonly oauth?: RehearsalLogin;
  /** Its catalog entries; default: the rehearsal models. */
  readonly models?: readonly JsonObject[];
  /** Default: a primary window that fills as turns are taken, and a quiet secondary one. */
  readonly quota?: Quota;
  /** Default true: refuses what a strict provider refuses. False checks nothing but the credential. */
  readonly strict?: boolean;
}

/** An account while the provider runs. */
export class Account {
  readonly config: RehearsalAccount;
  /** Marks what is bound to this account (ciphertext, turn state) without naming it: the id itself stands in the demo text only. */
  readonly tag: string;
  readonly login: Login | undefined;
  /** Turns asked of it so far. */
  turns = 0;

  constructor(config: RehearsalAccount) {
    this.config = config;
    this.tag = createHash('sha256').update(`rehearsal account ${config.id}`).digest('hex').slice(0, 12);
    this.login = config.oauth && new Login(config.oauth, this.tag);
  }

  get id(): string {
    return this.config.id;
  }

  /** Whether it takes this Authorization header. */
  admits(authorization: string | undefined, now: number): boolean {
    if (this.login) return this.login.takes(authorization, now);
    const { credential } = this.config;
    return credential === undefined || authorization === `Bearer ${credential}`;
  }

  /** Text that is bound to this account, as ciphertext and turn states are. */
  bind(prefix: string, id: string): string {
    return `${prefix}_${this.tag}_${id}`;
  }

  /** Whether the text was bound by another rehearsal account. Text of unknown making is nobody's, so that recordings can be replayed. */
  isForeign(text: string): boolean {
    const tag = /^[a-z]+_([0-9a-f]{12})_/.exec(text)?.[1];
    return tag !== undefined && tag !== this.tag;
  }
}
