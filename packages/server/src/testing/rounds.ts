/** The tests of the agent use it too, so it is in the package that both may import. */
export { isInTurn, roundsOr, testSeed } from '@headgate/contract/testing/rounds';
