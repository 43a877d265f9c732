// Translates the chunks of a Chat reply, or a whole completion, into the events of a Responses reply (AA49 to AA59).
import type { Json, JsonObject } from '../../../turn/json/json.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import { type Emit, type EventHandler, UnreadableReply } from '../../../turn/provider/provider-replies.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { TokenCounts } from '../../../turn/reply/turn-result.ts';
import { EventWriter } from '../../api-accounts/reply/event-writer.ts';
import type { ResponseObject } from '../../api-accounts/reply/response-object.ts';
import { noteUsage, responseUsage } from '../../api-accounts/reply/usage-in-reply.ts';
import type { LoweredTool } from '../../api-accounts/tools/tool-table.ts';
import { usageIn, usageInChat } from './chat-usage.ts';
import { choiceIn, deltaIn, errorInChunk, finishIn, hasObjectArguments } from './chunk.ts';
import { type EventText, eventText } from './event-text.ts';
import { type Finish, failedError, finishOf } from './finish.ts';
import { OpenCalls } from './open-calls.ts';
import { ReasoningItem } from './reasoning-item.ts';
import { ReplyOutput } from './reply-output.ts';
import { ReplyTexts } from './reply-texts.ts';

/** The longest wait for the usage after the finish reason. */
const USAGE_WAIT_MS = 5_000;

export interface ChatReplyOptions {
  readonly turn: Pick<LiveTurn, 'held' | 'note' | 'now'>;
  /** The response as the reply begins. */
  readonly response: ResponseObject;
  readonly quirks: Quirks;
  readonly toolOf: (name: string) => LoweredTool | undefined;
  readonly showsSummary: boolean;
  /** Makes the capsule of what the account needs back. Undefined if the account needs nothing back. */
  readonly seal: ((text: string, details: readonly Json[], calls: Readonly<Record<string, JsonObject>>) => string | undefined) | undefined;
  readonly estimateUsage: () => TokenCounts | undefined;
}

export class ChatReply implements EventHandler {
  readonly #options: ChatReplyOptions;
  readonly #response: ResponseObject;
  readonly #output: ReplyOutput;
  readonly #texts: ReplyTexts;
  readonly #calls: OpenCalls;
  #usage: JsonObject | undefined;
  /** The finish reason. The terminal event is sent after it, when the usage has come. */
  #finish: Finish | undefined;
  #state: 'silent' | 'begun' | 'over' = 'silent';
  /** Whether the account sent nothing. A body without a byte is not a reply. */
  #isEmpty = true;

  constructor(options: ChatReplyOptions) {
    const { turn, response, quirks, toolOf, showsSummary, seal } = options;
    this.#options = options;
    this.#response = response;
    this.#output = new ReplyOutput(new EventWriter(), turn.held);
    const reasoning = { showsSummary, seal: seal && ((text: string, details: readonly Json[]) => seal(text, details, NO_CALLS)) };
    this.#texts = new ReplyTexts(this.#output, reasoning, quirks);
    this.#calls = new OpenCalls(this.#output, toolOf);
    turn.held.hold(response.size);
  }

  event(event: ReplyEvent, emit: Emit): void {
    if (this.#state === 'over') return;
    this.#output.emit = emit;
    const text = eventText(event, this.#isEmpty);
    if (text === undefined) {
      if (event.length > 0 && isComment(event)) this.#isEmpty = false;
      return;
    }
    const chunk = text.json();
    this.#isEmpty = false;
    if (chunk) this.#chunk(chunk, event.type, text);
    else if (text.isDone) this.#done();
    else if (text.isBody) this.#failed(NO_COMPLETION);
    else if (!text.isBlank) throw new UnreadableReply();
  }

  end(emit: Emit): void {
    if (this.#state === 'over') return;
    this.#output.emit = emit;
    if (this.#finish) this.#complete(this.#finish);
    else if (this.#isEmpty) this.#failed(NO_COMPLETION);
    // The account's connection ended too early, and the gateway does not complete the reply.
  }

  endsAfter(): number | undefined {
    return this.#finish && this.#state !== 'over' ? USAGE_WAIT_MS : undefined;
  }

  #chunk(chunk: JsonObject, type: string, text: EventText): void {
    const error = this.#finish ? undefined : errorInChunk(chunk, type);
    if (error) {
      this.#failed(error);
      return;
    }
    this.#begin();
    this.#usage = usageIn(chunk) ?? this.#usage;
    const choice = this.#finish ? undefined : choiceIn(chunk);
    if (!choice) return;
    const { delta, isWhole } = deltaIn(choice);
    this.#delta(hasObjectArguments(delta) ? deltaIn(choiceIn(text.exactJson()) ?? choice).delta : delta, isWhole);
    const reason = finishIn(choice);
    if (reason !== undefined) this.#finished(finishOf(reason));
    else if (isWhole) this.#done();
    if (isWhole && this.#finish) this.#complete(this.#finish);
  }

  #begin(): void {
    if (this.#state !== 'silent') return;
    this.#state = 'begun';
    const response = this.#response.json({ status: 'in_progress', output: [] });
    this.#output.write('response.created', response);
    this.#output.write('response.in_progress', response);
  }

  #delta(delta: JsonObject, isWhole: boolean): void {
    this.#texts.add(delta);
    if (delta.tool_calls === undefined && delta.function_call === undefined) return;
    this.#calls.add(delta, isWhole, () => this.#texts.end('completed'));
  }

  #finished(finish: Finish): void {
    const isFailed = finish.kind === 'failed' || (finish.kind === 'unknown' && this.#output.isEmpty);
    if (isFailed) {
      this.#failed(STOPPED);
      return;
    }
    this.#finish = finish;
    const status = finish.kind === 'incomplete' ? 'incomplete' : 'completed';
    this.#texts.end(status);
    const calls = this.#calls.opened;
    for (const call of calls) call.end(status);
    this.#sealCalls();
  }

  /** Seals the further members of calls. They come too late to be sealed in the reasoning before the calls. */
  #sealCalls(): void {
    const { seal } = this.#options;
    const further = this.#calls.opened.filter((call) => Object.keys(call.further).length > 0);
    if (!seal || further.length === 0) return;
    const calls = Object.fromEntries(further.map((call) => [call.callId, call.further]));
    new ReasoningItem(this.#output, { showsSummary: false, seal: () => seal('', [], calls) }).end('completed');
  }

  /** Handles the end mark. Without a finish reason the reply may have been cut. */
  #done(): void {
    if (!this.#finish) {
      const calls = this.#calls.opened;
      const isWhole = this.#texts.hasText || (calls.length > 0 && calls.every((call) => call.isWhole));
      if (!isWhole) {
        this.#failed(STOPPED);
        return;
      }
      this.#finished({ kind: 'completed' });
    }
    if (this.#finish) this.#complete(this.#finish);
  }

  #complete(finish: Finish): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    const { turn, quirks, estimateUsage } = this.#options;
    const stated = this.#usage && usageInChat(this.#usage, quirks);
    const usage = responseUsage(stated, { outputBytes: this.#output.bytes, estimateUsage });
    noteUsage({ turn, quirks }, usage, this.#usage);
    const output = this.#output.items;
    if (finish.kind === 'incomplete') {
      const response = this.#response.json({ status: 'incomplete', output, incompleteReason: finish.reason, usage });
      this.#output.write('response.incomplete', response);
    } else this.#output.write('response.completed', this.#response.json({ status: 'completed', output, usage }));
  }

  /** Handles an error. Before output the attempt has failed; after it the response ends as failed. */
  #failed(error: JsonObject): void {
    const isShown = !this.#output.isEmpty;
    this.#state = 'over';
    if (!isShown) {
      this.#output.send('error', error);
      return;
    }
    const failed = failedError(error, this.#options.turn.now());
    const response = this.#response.json({ status: 'failed', output: this.#output.items, error: failed });
    this.#output.write('response.failed', response);
  }
}

const NO_CALLS: Readonly<Record<string, JsonObject>> = {};

const NO_COMPLETION: JsonObject = { error: { message: 'The answer is not a completion.' } };
const STOPPED: JsonObject = { error: { message: 'The reply ended without an answer.' } };

const COLON = 58;
const isComment = ({ bytes, start }: ReplyEvent): boolean => bytes[start] === COLON;
