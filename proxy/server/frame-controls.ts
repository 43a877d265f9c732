// Frames of a client that interrupt or steer its running response. They are sent to the account that runs it, under the rules of a turn, or
// answered here (RB29, RB31).
import type { BodyMemory } from '../base/bytes/body-memory.ts';
import type { Counters } from '../base/process/metrics.ts';
import { type Clock, LATE, withDeadline } from '../base/time/clock.ts';
import { type ControlError, INTERRUPT, interruptFailed, isSteerInput, steerFailed } from '../clients/websocket/controls/control-frame.ts';
import { inputOf, MOST_STEERS } from '../clients/websocket/controls/steers.ts';
import type { TurnFrame } from '../clients/websocket/frame.ts';
import type { FrameClient } from '../clients/websocket/frame-client.ts';
import type { WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import type { LiveReply } from '../dispatch/client.ts';
import { Refusal, refusalOf } from '../turn/errors/refusal.ts';
import { isObject, type Json, type JsonObject } from '../turn/json/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { asksForCompaction } from '../turn/trigger-item.ts';
import type { Body, ModeDecision, Outgoing } from '../turn/turn.ts';
import type { FollowingFrames } from '../upstream/carriers/websocket/following-frames.ts';
import type { TurnRunner } from './turn-runner.ts';

export interface FrameControlsOptions {
  readonly runner: Pick<TurnRunner, 'recordRefused'>;
  readonly clock: Clock;
  readonly counters: Counters;
  /** The bytes of client frames in memory. */
  readonly guard: BodyMemory;
}

/** The session of a client's websocket. */
interface ControlledSession {
  readonly connection: WebsocketConnection;
  /** The client of the running turn. */
  readonly client: FrameClient | undefined;
  /** A further turn, in the mode of the one before. Undefined if its endpoint is no longer served. */
  turnIn(mode: ModeDecision | undefined): LiveTurn | undefined;
}

/** A response that began without a request of its client. */
export interface Continued {
  /** The request with which the client would have begun the response. */
  readonly frame: TurnFrame;
  /** The events of the response, until a turn takes them. */
  readonly following: FollowingFrames;
}

/** The longest wait for the further response after a steered one. */
const CONTINUES_MS = 10_000;

/** Members of the running turn's frame that rules need for the added input. Tools and texts are in the response already. */
const INHERITED = ['model', 'reasoning', 'max_output_tokens', 'store', 'include'] as const;

export class FrameControls {
  readonly #options: FrameControlsOptions;

  constructor(options: FrameControlsOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async take(frame: TurnFrame, session: ControlledSession): Promise<void> {
    this.#options.counters.add('control_frames');
    const { client, connection } = session;
    const running = client?.isAt(connection) ? client : undefined;
    const failed = frame.json.type === INTERRUPT ? interrupt(frame.json, running) : await this.#steer(frame, session, running);
    if (!failed) return;
    this.#options.counters.add('control_frames_failed');
    if (running?.isAt(connection)) running.controls.show(failed);
    else connection.send([JSON.stringify(failed)]);
  }

  /** The further response that the client's steers have begun; undefined if none begins. */
  async continuation(client: FrameClient, connection: WebsocketConnection): Promise<Continued | undefined> {
    const { controls } = client;
    const following = controls.ended();
    if (!following) return undefined;
    const { clock, counters } = this.#options;
    const forget = connection.onClosed(() => following.cancel());
    const begins = client.isAt(connection) && (await withDeadline(following.decided, clock, CONTINUES_MS));
    forget();
    if (begins === true && connection.isOpen) {
      counters.add('responses_steered');
      const frames = controls.takeSteers();
      const input = inputOf(frames);
      const previous = frames[0]?.previous_response_id ?? null;
      const json = { ...client.settings, type: 'response.create', previous_response_id: previous, input };
      return { frame: { json, bytes: Buffer.byteLength(JSON.stringify(input)) }, following };
    }
    if (begins === LATE) counters.add('steers_unanswered');
    if (begins !== false || !client.isAt(connection)) following.cancel();
    controls.returnSteers();
    return undefined;
  }

  /** @returns the answer, if the account does not get the frame */
  async #steer({ json, bytes }: TurnFrame, session: ControlledSession, client: FrameClient | undefined): Promise<JsonObject | undefined> {
    const { previous_response_id: id, input } = json;
    const failed = (error: ControlError): JsonObject => steerFailed(json, error);
    if (typeof id !== 'string' || id === '' || !isSteerInput(input)) return failed({ code: 'invalid_input' });
    if (!client?.controls.runs(id)) return failed({ code: 'response_not_found' });
    const { steerable, steers } = client.controls;
    if (!steerable) return failed({ code: 'steering_not_supported' });
    const { limits } = client.turn;
    const held = this.#options.guard.of(client.turn.key.id).body();
    if (steers >= MOST_STEERS || !held.take(bytes, limits.bodies_in_memory_bytes)) return failed({ code: 'too_many_pending_steers' });
    const turn = session.turnIn(client.turn.model?.mode);
    return client.controls.check(async () => {
      const release = (): void => held.give();
      try {
        if (!turn) throw new Refusal('unknown_endpoint');
        const allowed = await allowedInput(turn, inherited(client, json), steerable);
        if (!client.controls.runs(id)) throw new NotActive();
        const { stream_id: _, ...frame } = json;
        client.controls.steer({ frame: json, bytes, release }, { ...frame, input: allowed });
        return undefined;
      } catch (thrown) {
        release();
        if (thrown instanceof NotActive) return failed({ code: 'response_not_active' });
        if (!(thrown instanceof Refusal)) turn?.fault(thrown);
        const refusal = refusalOf(thrown);
        if (turn) this.#options.runner.recordRefused(turn, refusal);
        return failed(refusal.error);
      }
    });
  }
}

/** Thrown if the response ended while its steer was checked. */
class NotActive extends Error {}

/** @returns the answer, if neither the account nor the reply gets the frame */
function interrupt(json: Body, client: FrameClient | undefined): JsonObject | undefined {
  const { response_id: id } = json;
  if (typeof id !== 'string' || id === '')
    return interruptFailed(id, { code: 'invalid_request', message: 'The id of a response is required.', param: 'response_id' });
  if (!client?.controls.runs(id)) return interruptFailed(id, { code: 'response_not_found' });
  const { stream_id: _, ...frame } = json;
  client.controls.interrupt(id, frame);
  return undefined;
}

/** The request with which the client would continue the response with this input. */
function inherited({ settings }: FrameClient, frame: Body): Body {
  const body: Body = { previous_response_id: frame.previous_response_id, input: inputOf([frame]) };
  for (const name of INHERITED) if (settings[name] !== undefined) body[name] = settings[name];
  return body;
}

/** The input as the account gets it. It was checked and edited like a turn that continues the response. @throws Refusal */
async function allowedInput(turn: LiveTurn, body: Body, { account, provider }: Pick<LiveReply, 'account' | 'provider'>): Promise<Json> {
  turn.rules.admit();
  if (asksForCompaction(body)) throw new Refusal('invalid_request', { param: 'input' });
  const work = { body };
  await turn.rules.request(work);
  if (turn.fileOwner !== undefined && turn.fileOwner !== account.id) throw new Refusal('file_conflict', { param: 'input' });
  await turn.rules.edit(work);
  const out: Outgoing = { account, api: provider.name, carrier: 'websocket', path: '', headers: {}, body: { ...work.body } };
  turn.rules.attempt(out);
  const { input = [] } = out.body;
  if (!Array.isArray(input)) return input;
  // In Lite every request begins with the list of tools, but the running response has it already.
  return turn.model?.mode?.effective === 'lite' && isEmptyPrefix(input[0]) ? input.slice(1) : input;
}

const isEmptyPrefix = (item: Json | undefined): boolean =>
  isObject(item) && item.type === 'additional_tools' && Array.isArray(item.tools) && item.tools.length === 0;
