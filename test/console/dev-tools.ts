// A connection of the DevTools protocol: to a browser or to one of its pages.
import WebSocket from 'ws';

type Fields = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Fields;
  readonly result?: Fields;
  readonly error?: { readonly message: string };
}

export class DevTools {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Fields>>();
  readonly #onEvent: (method: string, params: Fields) => void;
  #last = 0;

  private constructor(socket: WebSocket, onEvent: (method: string, params: Fields) => void) {
    this.#socket = socket;
    this.#onEvent = onEvent;
    socket.on('message', (data) => this.#receive(JSON.parse(String(data)) as Message));
  }

  /** @param url of the browser or of the page */
  static async at(url: string, onEvent: (method: string, params: Fields) => void = () => undefined): Promise<DevTools> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return new DevTools(socket, onEvent);
  }

  send(method: string, params: object = {}): Promise<Fields> {
    this.#last += 1;
    const waiting = Promise.withResolvers<Fields>();
    this.#waiting.set(this.#last, waiting);
    this.#socket.send(JSON.stringify({ id: this.#last, method, params }));
    return waiting.promise;
  }

  end(): void {
    this.#socket.terminate();
  }

  #receive({ id, method, params = {}, result, error }: Message): void {
    if (id === undefined) {
      if (method !== undefined) this.#onEvent(method, params);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result ?? {});
  }
}
