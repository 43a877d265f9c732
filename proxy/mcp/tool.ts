// One tool of /mcp: its schemas, its description for a model, and its answer.
import type { Schema } from '../turn/json/field-schemas.ts';
import type { OperatorView } from './operator-view.ts';

/** A tool. All tools only read. */
export interface Tool<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly title: string;
  /** What the tool answers and when to use it. A model reads nothing else about the tool. */
  readonly description: string;
  readonly input: Schema<Input>;
  readonly output: Schema<Output>;
  /** @throws ToolError */
  run(input: Input, view: OperatorView): Output | Promise<Output>;
}

/** Lets the compiler infer the types of the arguments and the answer from the schemas. */
export const tool = <Input, Output>(definition: Tool<Input, Output>): Tool<Input, Output> => definition;

/** An invalid use of a tool, with the correction. Only this error's message is public. */
export class ToolError extends Error {}
