// The codes with which the gateway closes websockets, of RFC 6455 and of its registry.

export const CLOSE = { goingAway: 1001, unsupportedData: 1003, policy: 1008, internalError: 1011, tryAgainLater: 1013 } as const;
