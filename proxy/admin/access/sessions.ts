// Sessions of signed-in operators: a sealed cookie, which every node can open, because all have the key of the store. Nothing is stored.
import type { Cipher } from '../../encryption/cipher.ts';

/** What a session is of. Times are Unix milliseconds. */
export interface OperatorSession {
  readonly operator: string;
  /** The digest of the token that it was exchanged for: it ends with that token. */
  readonly token: string;
  /** When it began. */
  readonly since: number;
  /** The last request that renewed it. */
  readonly seen: number;
}

/** A session without requests ends after this time. */
const IDLE_MS = 8 * 3_600_000;
/** A session ends this long after its sign-in, however often it is used. */
const LONGEST_MS = 72 * 3_600_000;
/** A cookie is renewed at most this often. */
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

  /** The value of Set-Cookie that ends it in the browser. */
  end(isSecure: boolean): string {
    return cookie('', 0, isSecure);
  }

  /** The session of a Cookie header; undefined where there is none that lasts. */
  of(header: string | undefined): OperatorSession | undefined {
    const sealed = new RegExp(`(?:^|;\\s*)${NAME}=([\\w.-]{1,2000})(?:;|$)`).exec(header ?? '')?.[1];
    const text = sealed === undefined ? undefined : this.#cipher.open(sealed, PLACE);
    if (text === undefined) return undefined;
    const session = JSON.parse(text) as OperatorSession;
    const now = this.#now();
    return now - session.since < LONGEST_MS && now - session.seen < IDLE_MS ? session : undefined;
  }

  /** The value of Set-Cookie with which a session goes on; undefined where the cookie is new enough. */
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
