// The addresses of simulated accounts: `rehearsal:PROFILE`, and for the other APIs `rehearsal:chat+PROFILE+QUIRK=VALUE+list=SERVER` (AA88).
import { type AccountConfig, REHEARSAL_PROFILES, type RehearsalProfile } from '../settings.ts';
import { PRESETS, type PresetName } from './presets.ts';
import { KEEPABLE, type KeptMember, QUIRKS, type Quirks } from './quirks.ts';

export interface RehearsalAddress {
  readonly api: AccountConfig['api'];
  /** `steady` if the address names none. */
  readonly profile: RehearsalProfile;
  /** The quirks that the address names. The simulated account refuses requests that ignore them. */
  readonly quirks: Partial<Quirks>;
  /** The kind of server whose form the list of models has; undefined if the address names none. */
  readonly list: PresetName | undefined;
}

/** A part of an address that is not valid. */
export interface UnknownPart {
  readonly what: 'profile' | 'quirk' | 'value' | 'list';
  readonly part: string;
  /** The valid words at that place. */
  readonly known: readonly string[];
}

const SCHEME = 'rehearsal:';

export const isRehearsal = (base_url: unknown): base_url is string => typeof base_url === 'string' && base_url.startsWith(SCHEME);

/** Undefined for an address of another kind. */
export function rehearsalAddress(base_url: string): RehearsalAddress | UnknownPart | undefined {
  if (!isRehearsal(base_url)) return undefined;
  const [name = '', ...parts] = base_url.slice(SCHEME.length).split('+');
  const api = name === 'chat' || name === 'responses' ? name : 'agent';
  if (api === 'agent' && parts.length > 0) return { what: 'profile', part: base_url.slice(SCHEME.length), known: REHEARSAL_PROFILES };
  let profile: RehearsalProfile = 'steady';
  let list: PresetName | undefined;
  const quirks: Record<string, string | boolean | readonly KeptMember[]> = {};
  for (const part of api === 'agent' && name !== '' ? [name] : parts) {
    const at = part.indexOf('=');
    const [word, value] = at < 0 ? [part] : [part.slice(0, at), part.slice(at + 1)];
    if (value === undefined) {
      if (!isOneOf(REHEARSAL_PROFILES, word)) return { what: 'profile', part, known: REHEARSAL_PROFILES };
      profile = word;
    } else if (word === 'list') {
      if (!isOneOf(SERVERS, value)) return { what: 'list', part: value, known: SERVERS };
      list = value;
    } else {
      const known = valuesOf(word);
      if (!known) return { what: 'quirk', part: word, known: [...Object.keys(QUIRKS), 'keep', 'list'] };
      const meant = word === 'keep' ? membersOf(value) : known.find((one) => String(one) === value);
      if (meant === undefined) return { what: 'value', part: value, known: known.map(String) };
      quirks[word] = meant;
    }
  }
  return { api, profile, quirks: quirks as Partial<Quirks>, list };
}

export const isUnknownPart = (address: RehearsalAddress | UnknownPart): address is UnknownPart => 'what' in address;

const SERVERS = Object.keys(PRESETS) as readonly PresetName[];

const valuesOf = (quirk: string): readonly (string | boolean)[] | undefined => {
  if (quirk === 'keep') return KEEPABLE;
  return Object.hasOwn(QUIRKS, quirk) ? QUIRKS[quirk as keyof typeof QUIRKS].values : undefined;
};

/** The members in a list that is separated by commas; `keep=` keeps none. */
function membersOf(value: string): readonly KeptMember[] | undefined {
  const members = value.split(',').filter((member) => member !== '');
  return members.every((member) => isOneOf(KEEPABLE, member)) ? (members as readonly KeptMember[]) : undefined;
}

const isOneOf = <Word extends string>(words: readonly Word[], word: string): word is Word => (words as readonly string[]).includes(word);
