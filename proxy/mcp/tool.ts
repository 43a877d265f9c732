// One tool of /mcp: its schemas, its description for a model, and what it answers.
import type { Schema } from '../turn/json/field-schemas.ts';
import type { OperatorView } from './operator-view.ts';

/** Every tool only reads. */
export interface Tool<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly title: string;
  /** What the tool answers and when to use it; a model reads nothing else about it. */
  readonly description: string;
  readonly input: Schema<Input>;
  readonly output: Schema<Output>;
  /** @throws ToolError */
  run(input: Input, view: OperatorView): Output | Promise<Output>;
}

/** Fixes the types of the arguments and of the answer by inference from the schemas. */
export const tool = <Input, Output>(definition: Tool<Input, Output>): Tool<Input, Output> => definition;

/** An invalid use of a tool, with the correction. Its message is public; that of any other error is not. */
export class ToolError extends Error {}
