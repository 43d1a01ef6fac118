const stopPostgres = async (): Promise<void> => {
  const { stopPostgres: stop } = globalThis as typeof globalThis & { stopPostgres?: () => Promise<void> };
  await stop?.();
};

export default stopPostgres;
