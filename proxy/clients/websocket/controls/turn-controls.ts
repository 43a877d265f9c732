// The frames of a client about the response of its running turn. They are sent to the account that runs it, and each is answered once
// (RB29, RB31).
import type { LiveReply, ReplyControls } from '../../../dispatch/client.ts';
import type { Json, JsonObject } from '../../../turn/json/json.ts';
import type { Body } from '../../../turn/turn.ts';
import { FollowingFrames } from '../../../upstream/carriers/websocket/following-frames.ts';
import { interruptFailed } from './control-frame.ts';
import { type Steer, Steers } from './steers.ts';

export class TurnControls implements ReplyControls {
  /** Sends an event to the client, after those of the reply so far. */
  readonly show: (event: JsonObject) => void;
  readonly #steers = new Steers();
  #reply: LiveReply | undefined;
  /** The ids of responses whose interrupt the account has not answered yet. */
  #interrupts: Json[] = [];
  #following: FollowingFrames | undefined;
  /** The number of steers that are being checked. `#checked` resolves at the end of the last check. */
  #checking = 0;
  #checked: Promise<void> = Promise.resolve();

  constructor(show: (event: JsonObject) => void) {
    this.show = show;
  }

  /** Whether this response is running. */
  runs(responseId: string): boolean {
    return this.#reply?.responseId === responseId;
  }

  /** The running reply, if frames can be sent to its account. */
  get steerable(): LiveReply | undefined {
    return this.#reply?.send && this.#reply;
  }

  /** The number of steers that are being checked, or that the account has neither used nor returned. */
  get steers(): number {
    return this.#checking + this.#steers.count;
  }

  /**
   * Runs the check of a steer after the checks before it, so that steers reach the account in the client's order.
   * @param check never rejects
   */
  async check<Result>(check: () => Promise<Result>): Promise<Result> {
    this.#checking += 1;
    const checking = this.#checked.then(check);
    this.#checked = checking.then(() => {
      this.#checking -= 1;
    });
    return await checking;
  }

  /** Interrupts the running response, by its account or instead of it. */
  interrupt(responseId: string, frame: JsonObject): void {
    const send = this.#reply?.send;
    if (!send) {
      this.#reply?.interrupt();
      return;
    }
    this.#interrupts.push(responseId);
    send(Buffer.from(JSON.stringify(frame)));
  }

  /** @param frame the frame for the account */
  steer(steer: Steer, frame: JsonObject): void {
    this.#steers.add(steer);
    this.#reply?.send?.(Buffer.from(JSON.stringify(frame)));
  }

  began(reply: LiveReply): void {
    this.#reply = reply;
  }

  answered(event: JsonObject): boolean {
    if (String(event.type).startsWith('response.steer.')) return this.#steers.read(event);
    const at = this.#interrupts.indexOf(event.response_id ?? null);
    return at !== -1 && this.#interrupts.splice(at, 1).length > 0;
  }

  responseEnded(): FollowingFrames | undefined {
    if (this.#steers.count === 0) return undefined;
    this.#following = new FollowingFrames({
      answered: (event) => {
        if (this.#steers.read(event)) this.show(event);
        return this.#steers.count === 0;
      },
    });
    return this.#following;
  }

  /**
   * Answers interrupts that came too late, because the response has ended.
   * @returns the reader of the frames that follow a steered response
   */
  ended(): FollowingFrames | undefined {
    this.#reply = undefined;
    for (const id of this.#interrupts.splice(0)) this.show(interruptFailed(id, { code: 'response_not_found' }));
    if (!this.#following) this.returnSteers();
    return this.#following;
  }

  /** Takes the steers that a further response has used. */
  takeSteers(): readonly Body[] {
    return this.#steers.take();
  }

  /** Returns all steers to the client, because no further response will come. */
  returnSteers(): void {
    for (const event of this.#steers.fail()) this.show(event);
  }
}
