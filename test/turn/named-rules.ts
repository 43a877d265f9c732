// Rules for the tests of the chain, and a configuration in which `wire.agent` is not the neutral word.
import { type Rule, rule } from '../../proxy/turn/rules/rule.ts';
import type { Event, Turn } from '../../proxy/turn/turn.ts';
import { turnOf } from '../support/turns/turn.ts';

/** A turn whose event names and paths have the word `acme`. */
export const ACME: Turn = { ...turnOf(), wire: { agent: 'acme', meter: 'meter', lite_marker: 'x-marker', client_version: '0.0.0' } };

export const named = (name: string, rest: Omit<Rule, 'name' | 'routes'>): Rule => rule({ name, routes: '*', ...rest });

export const event = (type: string, more: Event['data'] = {}): Event => ({ type, data: { type, ...more } });
