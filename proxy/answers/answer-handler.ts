// The interface of routes that the gateway answers without an account.
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Answer } from '../turn/surface.ts';
import type { Body } from '../turn/turn.ts';

/** What handlers use of the turn's client. */
export interface AnsweredClient {
  /** Reads the JSON body of the request. @throws Refusal */
  json(): Promise<Body>;
}

/** Answers a turn, in a slot of the route's admission class. @throws Refusal */
export type AnswerHandler = (turn: LiveTurn, client: AnsweredClient) => Answer | Promise<Answer>;
