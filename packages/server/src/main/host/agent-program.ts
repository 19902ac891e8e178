import { join } from 'node:path';

/** In a module of its own: tests that start many installations have it name a bundle (scripts/test-programs.ts). */
export const findAgentProgram = (checkout: string) => join(checkout, 'packages', 'agent', 'src', 'main.ts');
