// What a Messages request states about reasoning: its effort, and how the client gets it (AM33, AM35).
import { isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { ThinkingDisplay } from '../reply/item-blocks.ts';
import type { History } from './history.ts';
import { malformed, objectAt } from './malformed.ts';

/** An effort on the client's scale, with its place. `lowest` is the model's lowest level. */
export interface AskedEffort {
  readonly level: string | 'lowest';
  readonly place: string;
}

/** The level for a token budget, with the largest budget of each level. */
const BUDGETS: readonly (readonly [most: number, level: string])[] = [
  [4_096, 'low'],
  [16_384, 'medium'],
  [32_768, 'high'],
  [Number.POSITIVE_INFINITY, 'xhigh'],
];

export interface Thinking {
  readonly display: ThinkingDisplay;
  /** Undefined if the client asks for no effort. */
  readonly effort: AskedEffort | undefined;
}

export function thinkingOf({ thinking: given, output_config: config }: JsonObject, inHistory: History['effort']): Thinking {
  const thinking = isAbsent(given) ? undefined : objectAt(given, 'thinking');
  const own = isObject(config) && !isAbsent(config.effort) ? { level: config.effort, place: 'output_config.effort' } : undefined;
  const byThinking = thinking && effortBy(thinking);
  return { display: thinking ? displayOf(thinking) : 'none', effort: levelOf(inHistory) ?? levelOf(own) ?? byThinking };
}

function levelOf(asked: { readonly level: Json; readonly place: string } | undefined): AskedEffort | undefined {
  if (!asked) return undefined;
  const { level, place } = asked;
  if (typeof level !== 'string' || level === '') throw malformed(place, 'must be low, medium, high, xhigh or max');
  return { level, place };
}

function displayOf({ type, display }: JsonObject): ThinkingDisplay {
  if (type !== 'enabled' && type !== 'adaptive') return 'none';
  return display === 'omitted' ? 'omitted' : 'text';
}

/** The effort in the member `thinking`. It also checks the member's form, so it is called even if another effort takes precedence. */
function effortBy({ type, budget_tokens: budget }: JsonObject): AskedEffort | undefined {
  switch (type) {
    case 'enabled': {
      if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < 1) {
        throw malformed('thinking.budget_tokens', 'must be a whole number above 0');
      }
      const [, level = 'xhigh'] = BUDGETS.find(([most]) => budget <= most) ?? [];
      return { level, place: 'thinking.budget_tokens' };
    }
    case 'disabled':
    case 'between_tools':
      return { level: 'lowest', place: 'thinking.type' };
    case 'adaptive':
      return undefined;
    default:
      throw malformed('thinking.type', 'must be enabled, adaptive, disabled or between_tools');
  }
}
