// Makes the native entries of a Pool's API models, which take instructions from its agent models (AA11).
import type { JsonObject } from '../turn/json/json.ts';
import type { Source } from './catalog/cohort.ts';
import { nativeEntry } from './lists/native-entry.ts';

type Sources = [Source, ...Source[]];

/** @param sources by exposed id, in configuration order; API sources are replaced in place by sources with a made entry */
export function makeEntries(sources: ReadonlyMap<string, Sources>): void {
  const models = [...sources].filter(([, of]) => of.some(({ entry }) => entry.own?.kind === 'turns'));
  if (models.length === 0) return;
  const agents = [...sources.values()].map(agentEntry).filter((entry) => entry !== undefined);
  let priority = Math.max(0, ...agents.map(({ priority: own }) => (typeof own === 'number' ? own : 0)));
  for (const [id, of] of models) {
    priority += 1;
    for (const [index, source] of of.entries()) {
      const { own, declared } = source.entry;
      if (own?.kind !== 'turns') continue;
      const liked = declared?.like === undefined ? undefined : sources.get(declared.like);
      const lender = (liked && agentEntry(liked)) ?? agentEntry(of) ?? agents[0];
      const fields = nativeEntry(id, own, { lender, native: declared?.native ?? {}, priority });
      of[index] = { ...source, entry: { ...source.entry, fields } };
    }
  }
}

/** The first entry of an agent account. */
const agentEntry = (sources: readonly Source[]): JsonObject | undefined => sources.find(({ entry }) => !entry.own)?.entry.fields;
