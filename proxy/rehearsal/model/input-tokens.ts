// Counts the tokens of a request as the simulated provider does: four bytes of the body count as one token.

const BYTES_PER_TOKEN = 4;

export const simulatedTokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);
