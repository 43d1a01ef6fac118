import { lockTable } from './lock-table.ts';

export const lockPlants = (databaseUrl: string) => lockTable(databaseUrl, 'plants');
