// Finalises a file at its account, and asks again while the account is not done with it (Q21).
import { setTimeout as timer } from 'node:timers/promises';
