\set id random(0, 9223372036854775806)
INSERT INTO plants (id, name, tag) VALUES (:id, 'Monstera deliciosa', 'indoor');
