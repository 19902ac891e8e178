export function createAzureStore(_: unknown): never {
  throw new Error('not yet');
}
