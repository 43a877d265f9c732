// The interface of routes that the gateway answers without an account.
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Answer } from '../turn/turn-result.ts';

/** Runs with a slot of the route's admission class. @throws Refusal */
export type AnswerHandler = (turn: LiveTurn) => Answer | Promise<Answer>;
