// The Dockerfile as an engine reads it: the files, commands and variables of its last stage.
import { readFileSync } from 'node:fs';
import { type Copy, DockerfileParser, type Instruction, type PropertyInstruction } from 'dockerfile-ast';

export interface Image {
  /** Files and folders of the build context that the last stage has, at its workdir. */
  readonly copied: readonly string[];
  readonly workdir: string;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly args: readonly string[];
  readonly healthcheck: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly ports: readonly number[];
  /** The keywords of all stages, in order. */
  readonly keywords: readonly string[];
}

export function dockerfile(): Image {
  const file = DockerfileParser.parse(readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8'));
  const instructions = file.getInstructions();
  const start = instructions.findLastIndex((one) => one.getKeyword() === 'FROM');
  const last = instructions.slice(start);
  const of = (keyword: string): readonly Instruction[] => last.filter((one) => one.getKeyword() === keyword);
  const wordsOf = (one: Instruction | undefined): readonly string[] => one?.getArguments().map((argument) => argument.getValue()) ?? [];
  /** The exec form of an instruction; a health check has its options before it. */
  const listOf = (keyword: string): readonly string[] => {
    const text = of(keyword).at(-1)?.getArgumentsContent() ?? '';
    return text.includes('[') ? JSON.parse(text.slice(text.indexOf('['))) : [];
  };
  const pairsOf = (keyword: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      of(keyword).flatMap((one) => (one as PropertyInstruction).getProperties().map((pair) => [pair.getName(), pair.getValue() ?? ''])),
    );
  return {
    // Files of another stage do not come from the context.
    copied: of('COPY').flatMap((one) => ((one as Copy).getFromFlag() ? [] : wordsOf(one).slice(0, -1))),
    workdir: wordsOf(of('WORKDIR').at(-1))[0] ?? '/',
    user: wordsOf(of('USER').at(-1))[0] ?? 'root',
    entrypoint: listOf('ENTRYPOINT'),
    args: listOf('CMD'),
    healthcheck: listOf('HEALTHCHECK'),
    env: pairsOf('ENV'),
    labels: pairsOf('LABEL'),
    volumes: of('VOLUME').flatMap(wordsOf),
    ports: of('EXPOSE').flatMap(wordsOf).map(Number),
    keywords: instructions.map((one) => one.getKeyword()),
  };
}
