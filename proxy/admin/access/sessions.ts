// Sessions of signed-in operators. A session is a sealed cookie that every node can open, because all have the key of the store. Nothing is
// stored.
import type { Cipher } from '../../encryption/cipher.ts';

/** The content of a session. Times are Unix milliseconds. */
export interface OperatorSession {
  readonly operator: string;
  /** The digest of the token with which the operator signed in. The session ends with that token. */
  readonly token: string;
  /** When it began. */
  readonly since: number;
  /** The last request that renewed it. */
  readonly seen: number;
}

/** The time after which a session without requests ends. */
const IDLE_MS = 8 * 3_600_000;
/** The time after which a session ends, even if it is used. */
const LONGEST_MS = 72 * 3_600_000;
/** The shortest time between two renewals of a cookie. */
const RENEWED_MS = 300_000;

const NAME = 'poolgate_session';
const PLACE = 'session of the admin listener';

export class Sessions {
  readonly #cipher: Pick<Cipher, 'open' | 'seal'>;
  readonly #now: () => number;

  constructor(cipher: Pick<Cipher, 'open' | 'seal'>, now: () => number) {
    this.#cipher = cipher;
    this.#now = now;
  }

  /** The value of Set-Cookie that begins a session. */
  begin(operator: string, token: string, isSecure: boolean): string {
    const now = this.#now();
    return this.#cookie({ operator, token, since: now, seen: now }, isSecure);
  }

  /** The value of Set-Cookie that ends a session in the browser. */
  end(isSecure: boolean): string {
    return cookie('', 0, isSecure);
  }

  /** The session of a Cookie header; undefined if there is no valid one. */
  of(header: string | undefined): OperatorSession | undefined {
    const sealed = new RegExp(`(?:^|;\\s*)${NAME}=([\\w.-]{1,2000})(?:;|$)`).exec(header ?? '')?.[1];
    const text = sealed === undefined ? undefined : this.#cipher.open(sealed, PLACE);
    if (text === undefined) return undefined;
    const session = JSON.parse(text) as OperatorSession;
    const now = this.#now();
    return now - session.since < LONGEST_MS && now - session.seen < IDLE_MS ? session : undefined;
  }

  /** The value of Set-Cookie that renews a session; undefined if the cookie is new enough. */
  renewed(session: OperatorSession, isSecure: boolean): string | undefined {
    const seen = this.#now();
    return seen - session.seen < RENEWED_MS ? undefined : this.#cookie({ ...session, seen }, isSecure);
  }

  #cookie(session: OperatorSession, isSecure: boolean): string {
    const left = Math.min(IDLE_MS, session.since + LONGEST_MS - this.#now());
    return cookie(this.#cipher.seal(JSON.stringify(session), PLACE), Math.max(0, Math.floor(left / 1000)), isSecure);
  }
}

const cookie = (value: string, seconds: number, isSecure: boolean): string =>
  `${NAME}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
