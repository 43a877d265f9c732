// The fields of a transcription that are lists. A form spells a list as several parts of one name, with or without brackets.

export type ListName = 'keywords' | 'languages';

/** The list that a field belongs to. */
export function listOf(name: string): ListName | undefined {
  const bare = name.endsWith('[]') ? name.slice(0, -2) : name;
  return bare === 'keywords' || bare === 'languages' ? bare : undefined;
}
