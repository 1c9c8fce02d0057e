//! Calls that the adapter does not make.

/// Implements calls, as `async_trait` would, by an error.
macro_rules! unused {
    ($($name:ident($request:ty) -> $response:ty;)*) => {$(
        fn $name<'server, 'call>(
            &'server self,
            _request: Request<$request>,
        ) -> std::pin::Pin<
            Box<dyn Future<Output = Result<Response<$response>, Status>> + Send + 'call>,
        >
        where
            'server: 'call,
            Self: 'call,
        {
            Box::pin(std::future::ready(Err(Status::unimplemented(stringify!($name)))))
        }
    )*};
}

pub(super) use unused;
