-- Only who writes takes turns: the API cannot make the writers of the record and of the forecasts wait by these functions.

-- +goose Up
revoke execute on function record_lock(), forecast_lock() from public;
grant execute on function record_lock(), forecast_lock() to tidemark_worker;

-- +goose Down
revoke execute on function record_lock(), forecast_lock() from tidemark_worker;
grant execute on function record_lock(), forecast_lock() to public;
