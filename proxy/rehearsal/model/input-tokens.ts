// How the simulated provider counts the tokens of a request: four bytes of its body are one.

const BYTES_PER_TOKEN = 4;

export const inputTokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);
