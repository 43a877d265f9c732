// The client that a command names.
import { suggestion } from '../config/schema/suggestion.ts';
import { CLIENTS, type ClientSettings } from '../pages/client-settings.ts';
import { CommandFailure } from './command.ts';

/** @throws {CommandFailure} for an unknown name */
export function clientNamed(name: string): ClientSettings {
  const client = CLIENTS.find((known) => known.name === name);
  if (client) return client;
  const names = CLIENTS.map((known) => known.name);
  throw new CommandFailure(`there is no client '${name}'${suggestion(name, names) || `; known: ${names.join(', ')}`}`, { exitCode: 2 });
}
