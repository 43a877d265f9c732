// The strategy `fastest`: the account whose replies begin first, by a smoothed time of its attempts at one model.
import { hashOf } from '../../../base/bytes/rendezvous.ts';
import { dispatchedKind } from '../../../turn/routes/kinds.ts';
import type { SelectedTurn } from '../demand.ts';
import type { Strategy } from './strategy.ts';

/** The weight of the newest time in the smoothed one, with which about ten attempts decide. */
const NEWEST = 0.2;
/** One turn in this many goes to the account with the oldest evidence, so that an account that became faster is found. */
const EXPLORING = 20;

interface Evidence {
  /** Smoothed time to the first event, in milliseconds. */
  ms: number;
  /** The number of the attempt with which the account was last measured. */
  seen: number;
}

/**
 * Scores accounts by their time to the first event. An account without evidence counts as the mean of the others. Attempts in flight count
 * for up to twice the time, so that a burst is spread over accounts of similar times. An account of weight 2 is preferred until it takes
 * twice the time. The times are those of this node, because another node may have another route to the account.
 */
export function fastest(): Strategy {
  const evidence = new Map<string, Evidence>();
  let attempts = 0;
  let mean = 0;
  return {
    perTurn: true,
    score({ record, weight }, turn) {
      const known = evidence.get(record.id);
      if (turn && explores(turn)) return -(known?.seen ?? 0);
      return (-(known?.ms ?? mean) * (1 + record.inFlight / record.capacity)) / weight;
    },
    ended({ candidate: { record }, turn, firstEventMs }) {
      if (firstEventMs === undefined || !showsFirstEvent(turn)) return;
      attempts += 1;
      const known = evidence.get(record.id);
      if (known) {
        known.ms += NEWEST * (firstEventMs - known.ms);
        known.seen = attempts;
      } else evidence.set(record.id, { ms: firstEventMs, seen: attempts });
      let sum = 0;
      for (const { ms } of evidence.values()) sum += ms;
      mean = sum / evidence.size;
    },
  };
}

/** Decides by the turn's id, so all attempts of a turn are placed alike. */
const explores = ({ id }: SelectedTurn): boolean => hashOf(id) % EXPLORING === 0;

/** A reply that is checked as a whole is committed at its end, so it shows no first event. */
const showsFirstEvent = ({ route: { kind } }: SelectedTurn): boolean => dispatchedKind(kind)?.reply === 'events';
