// One login of an account that is in progress in this process: what a person needs for it, and its result. It ends by itself.
import type { Clock } from '../../../base/time/clock.ts';
import type { Tokens } from '../tokens.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { CALLBACK_MS, type CodeLogin, codeLogin, pastedRedirectOf } from './code-login.ts';
import { type DevicePrompt, deviceLogin } from './device-login.ts';
import { LoginFailed, noCallback } from './login-failed.ts';

/** `device`: a code that a person enters in any browser. `link`: an address that a person opens, and a callback that is pasted. */
export type LoginWay = 'device' | 'link';

export interface LoginRunTools {
  readonly server: AuthorizationServer;
  readonly clock: Pick<Clock, 'after' | 'now'>;
  /** Stores the tokens. @returns the result in a sentence @throws LoginFailed */
  readonly store: (tokens: Tokens) => Promise<string>;
  /** Turns an error of the program into a sentence. */
  readonly failure: (thrown: unknown) => string;
}

export class LoginRun {
  readonly account: string;
  readonly way: LoginWay;
  /** `storing`: the provider has issued tokens, or was asked for them. */
  state: 'waiting' | 'storing' | 'done' | 'failed' = 'waiting';
  /** Set while the login waits for a code. */
  device: Pick<DevicePrompt, 'userCode' | 'url' | 'urlWithCode'> | undefined;
  /** Set while the login waits for a callback. */
  link: Pick<CodeLogin, 'url' | 'redirectUrl'> | undefined;
  /** When the wait for a person ends, in Unix milliseconds that never jump. */
  endsAt: number;
  /** What prevents the login at the moment. */
  notice: string | undefined;
  /** The result in a sentence. */
  text: string | undefined;
  /** When the login ended. */
  endedAt: number | undefined;
  readonly #tools: LoginRunTools;
  readonly #stop = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  readonly #callback = Promise.withResolvers<URL>();
  #code: CodeLogin | undefined;

  constructor(account: string, way: LoginWay, tools: LoginRunTools) {
    this.account = account;
    this.way = way;
    this.#tools = tools;
    this.endsAt = tools.clock.now() + CALLBACK_MS;
    // Handles the rejection of a run that is stopped before it waits for its callback.
    this.#callback.promise.catch(() => undefined);
  }

  get isUnderWay(): boolean {
    return this.endedAt === undefined;
  }

  /** Resolves when the login has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Resolves when a person can continue the login, or when it has failed. */
  begin(): Promise<void> {
    const { promise: isShown, resolve: shown } = Promise.withResolvers<void>();
    void this.#run(shown).finally(shown);
    return isShown;
  }

  /** Takes the callback that a person pasted. `none`: the text contains no callback. `other`: the callback belongs to another login. */
  paste(text: string): 'taken' | 'none' | 'other' {
    const callback = this.#code?.pasted(text);
    if (!callback) return 'none';
    if (!this.#code?.isOwn(callback)) return 'other';
    this.#callback.resolve(callback);
    return 'taken';
  }

  /** Ends the login while it waits for a person. A login that is being stored is stored completely. */
  stop(reason: LoginFailed): void {
    if (this.state !== 'waiting') return;
    this.#end('failed', reason.message);
    this.#stop.abort(reason);
    this.#callback.reject(reason);
  }

  async #run(shown: () => void): Promise<void> {
    try {
      const tokens = await (this.way === 'device' ? this.#byDevice(shown) : this.#byLink(shown));
      if (!this.isUnderWay) return;
      this.state = 'storing';
      this.#end('done', await this.#tools.store(tokens));
    } catch (thrown) {
      this.#end('failed', thrown instanceof LoginFailed ? thrown.message : this.#tools.failure(thrown));
    }
  }

  #byDevice(shown: () => void): Promise<Tokens> {
    const { clock, server } = this.#tools;
    const began = clock.now();
    return deviceLogin(server, server.settings.device_url ?? '', {
      clock,
      ended: this.#stop.signal,
      show: ({ seconds, ...prompt }) => {
        this.device = prompt;
        this.endsAt = began + seconds * 1_000;
        shown();
      },
      onLost: ({ reason }) => {
        this.notice = `${reason}; it is asked again until the code ends`;
      },
    });
  }

  async #byLink(shown: () => void): Promise<Tokens> {
    const { clock, server } = this.#tools;
    const code = await codeLogin(server, server.settings.authorize_url ?? '', pastedRedirectOf(server.settings));
    this.#code = code;
    this.link = { url: code.url, redirectUrl: code.redirectUrl };
    shown();
    const cancel = clock.after(CALLBACK_MS, () => this.stop(noCallback(CALLBACK_MS)));
    const callback = await this.#callback.promise.finally(cancel);
    this.state = 'storing';
    return code.finish(callback);
  }

  /** Sets the end, unless there is one already. What a person needed is removed. */
  #end(state: 'done' | 'failed', text: string): void {
    if (!this.isUnderWay) return;
    this.state = state;
    this.text = text;
    this.endedAt = this.#tools.clock.now();
    this.device = undefined;
    this.link = undefined;
    this.notice = undefined;
    this.#ended.resolve();
  }
}
